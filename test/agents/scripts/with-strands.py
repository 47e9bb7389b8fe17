# One strands agent with its summarizing conversation manager.
import json
import os

from strands import Agent, tool
from strands.agent.conversation_manager import SummarizingConversationManager
from strands.models.openai import OpenAIModel


@tool
def read_note(path: str) -> str:
    """Reads a note.

    Args:
        path: The note's path.
    """
    with open(path) as file:
        return file.read()


model = OpenAIModel(
    client_args={"base_url": os.environ["BASE_URL"], "api_key": "sk-local"},
    model_id=os.environ["MODEL"],
    context_window_limit=12_000,
    params={"max_tokens": 1500},
)
agent = Agent(
    model=model,
    tools=[read_note],
    system_prompt="You help with notes.",
    conversation_manager=SummarizingConversationManager(summary_ratio=0.5, preserve_recent_messages=4, proactive_compression=True),
    callback_handler=None,
)
for prompt in json.loads(os.environ["PROMPTS"]):
    print(agent(prompt))
