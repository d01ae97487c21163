"""One call from intent to outcome: policy, sending, judging, drafts."""
