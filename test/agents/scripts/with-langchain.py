# One langchain agent with its summarization middleware.
import json
import os

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver


@tool
def read_note(path: str) -> str:
    """Reads a note."""
    with open(path) as file:
        return file.read()


model = ChatOpenAI(model=os.environ["MODEL"], api_key="sk-local", base_url=os.environ["BASE_URL"], max_retries=1)
trim = os.environ.get("TRIM")
middleware = SummarizationMiddleware(
    model=model, trigger=("tokens", 9000), keep=("messages", 4), **({"trim_tokens_to_summarize": int(trim)} if trim else {})
)
agent = create_agent(model=model, tools=[read_note], system_prompt="You help with notes.", middleware=[middleware], checkpointer=InMemorySaver())
for prompt in json.loads(os.environ["PROMPTS"]):
    done = agent.invoke({"messages": [{"role": "user", "content": prompt}]}, {"configurable": {"thread_id": "1"}, "recursion_limit": 80})
    print(done["messages"][-1].content)
