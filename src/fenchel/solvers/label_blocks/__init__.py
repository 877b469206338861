"""Block coordinate descent on the dual of the multilabel hinge."""
