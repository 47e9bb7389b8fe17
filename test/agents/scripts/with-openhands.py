# One agent of OpenHands' SDK with its summarizing condenser.
import json
import os

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.tools.terminal import TerminalTool

llm = LLM(model=f"openai/{os.environ['MODEL']}", base_url=os.environ["BASE_URL"], api_key="sk-local", usage_id="agent", num_retries=1)
condenser = LLMSummarizingCondenser(llm=llm.model_copy(update={"usage_id": "condenser"}), max_size=14, keep_first=2)
agent = Agent(llm=llm, tools=[Tool(name=TerminalTool.name)], condenser=condenser)
conversation = Conversation(agent=agent, workspace=os.getcwd())
for prompt in json.loads(os.environ["PROMPTS"]):
    conversation.send_message(prompt)
    conversation.run()
