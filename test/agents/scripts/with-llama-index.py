# One llama-index agent with its summarizing memory.
import asyncio
import json
import os
import warnings

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import ChatSummaryMemoryBuffer
from llama_index.llms.openai_like import OpenAILike

warnings.simplefilter("ignore")


def read_note(path: str) -> str:
    """Reads a note."""
    with open(path) as file:
        return file.read()


async def main() -> None:
    llm = OpenAILike(
        model=os.environ["MODEL"], api_base=os.environ["BASE_URL"], api_key="sk-local",
        is_chat_model=True, is_function_calling_model=True, context_window=32_000, max_retries=1,
    )
    agent = FunctionAgent(tools=[read_note], llm=llm, system_prompt="You help with notes.")
    memory = ChatSummaryMemoryBuffer.from_defaults(llm=llm, token_limit=6000)
    for prompt in json.loads(os.environ["PROMPTS"]):
        print(await agent.run(prompt, memory=memory, max_iterations=40))


asyncio.run(main())
