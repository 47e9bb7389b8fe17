# One Semantic Kernel agent whose thread keeps its history in a summarizing reducer.
import asyncio
import json
import os

from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.contents import ChatHistorySummarizationReducer
from semantic_kernel.functions import kernel_function


class Notes:
    @kernel_function(name="read_note", description="Reads a note.")
    def read_note(self, path: str) -> str:
        with open(path) as file:
            return file.read()


async def main() -> None:
    client = AsyncOpenAI(base_url=os.environ["BASE_URL"], api_key="sk-local")
    service = OpenAIChatCompletion(ai_model_id=os.environ["MODEL"], async_client=client)
    functions = os.environ.get("FUNCTIONS") == "kept"
    history = ChatHistorySummarizationReducer(service=service, target_count=4, threshold_count=2, include_function_content_in_summary=functions)
    agent = ChatCompletionAgent(service=service, name="notes", instructions="You help with notes.", plugins=[Notes()])
    thread = ChatHistoryAgentThread(chat_history=history)
    for prompt in json.loads(os.environ["PROMPTS"]):
        reply = await agent.get_response(messages=prompt, thread=thread)
        print(reply)
        print("reduced:", await thread.reduce() is not None)


asyncio.run(main())
