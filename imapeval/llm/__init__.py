"""Language models behind one small protocol: `Model.complete` takes a `Request` and returns a `Completion`."""

from imapeval.llm.protocol import Completion, Message, Model, Request, Token, Usage
from imapeval.llm.providers.scripted import ScriptedModel

__all__ = ["Completion", "Message", "Model", "Request", "ScriptedModel", "Token", "Usage"]
