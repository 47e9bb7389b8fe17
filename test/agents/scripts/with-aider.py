# One aider session through its own scripting interface; each prompt is asked several times, for another file.
import json
import os
import time

from aider.coders import Coder
from aider.io import InputOutput
from aider.models import Model

os.environ["OPENAI_API_BASE"] = os.environ["BASE_URL"]
model = Model(f"openai/{os.environ['MODEL']}")
model.max_chat_history_tokens = 1500
coder = Coder.create(main_model=model, edit_format="whole", io=InputOutput(yes=True, pretty=False), use_git=False, stream=True, map_tokens=0)
for round in range(1, 4):
    for prompt in json.loads(os.environ["PROMPTS"]):
        coder.run(with_message=f"{prompt} (round {round})")
        time.sleep(1)
