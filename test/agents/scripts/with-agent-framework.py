# One agent of Microsoft's agent framework with its summarization strategy.
import asyncio
import json
import os

from agent_framework import Agent, SummarizationStrategy, tool
from agent_framework.openai import OpenAIChatCompletionClient


@tool(approval_mode="never_require")
def read_note(path: str) -> str:
    """Reads a note."""
    with open(path) as file:
        return file.read()


async def main() -> None:
    client = OpenAIChatCompletionClient(model=os.environ["MODEL"], api_key="sk-local", base_url=os.environ["BASE_URL"])
    strategy = SummarizationStrategy(client=client, target_count=4, threshold=4)
    agent = Agent(client=client, instructions="You help with notes.", tools=[read_note], compaction_strategy=strategy)
    session = agent.create_session()
    for prompt in json.loads(os.environ["PROMPTS"]):
        print(await agent.run(prompt, session=session))


asyncio.run(main())
