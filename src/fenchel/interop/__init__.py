"""Models of other libraries: what they minimize, and how close they came to it."""

from fenchel.interop.judging import Judgement, certify

__all__ = ["Judgement", "certify"]
