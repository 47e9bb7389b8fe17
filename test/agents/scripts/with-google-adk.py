# One agent of Google's Agent Development Kit, over LiteLLM, with the compaction of events that it brings.
import asyncio
import json
import os

from google.adk.agents import Agent
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types


def read_note(path: str) -> str:
    """Reads a note."""
    with open(path) as file:
        return file.read()


async def main() -> None:
    model = LiteLlm(model=f"openai/{os.environ['MODEL']}", api_base=os.environ["BASE_URL"], api_key="sk-local")
    agent = Agent(name="notes", model=model, instruction="You help with notes.", tools=[read_note])
    compaction = EventsCompactionConfig(summarizer=LlmEventSummarizer(llm=model), compaction_interval=1, overlap_size=0)
    runner = InMemoryRunner(app=App(name="notes", root_agent=agent, events_compaction_config=compaction))
    session = await runner.session_service.create_session(app_name="notes", user_id="user")
    for prompt in json.loads(os.environ["PROMPTS"]):
        message = types.Content(role="user", parts=[types.Part(text=prompt)])
        async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
            if event.is_final_response() and event.content:
                print(event.content.parts[0].text)


asyncio.run(main())
