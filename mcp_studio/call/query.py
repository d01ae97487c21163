"""JMESPath expressions that select or reshape parts of a result (https://jmespath.org)."""

from __future__ import annotations

import json
from typing import Any

from mcp_studio.errors import LimitExceeded, UsageError, nearest
from mcp_studio.jsontext import Json, depth, dumps
from mcp_studio.limits import DEFAULT, MB

_LONGEST = 1_000
"""Characters of the longest expression."""
_MOST = 64 * MB
"""Bytes that an evaluation may produce, where every step counts for some: a few seconds."""
_STEP = 20
_MAKES = ("multi_select_list", "multi_select_dict", "flatten", "function_expression")
"""Nodes whose result may be larger than their input."""


def parsed(expression: str) -> Any:
    """The syntax tree of an expression.

    Raises:
        UsageError: the text is not an expression; the message says why and in which column.
    """
    from jmespath import compile
    from jmespath.exceptions import ParseError
    from jmespath.functions import Functions

    if not expression.strip() or len(expression) > _LONGEST:
        raise UsageError(f"An expression has 1 to {_LONGEST:,} characters.", hint="`@` is the whole value.")
    known, hint = Functions.FUNCTION_TABLE, ""
    try:
        todo = [top := compile(expression).parsed]
        for node in todo:
            if node["type"] == "function_expression" and (name := node["value"]) not in known:
                at, why, hint = expression.find(f"{name}("), f"there is no function {name}()", nearest(name, known)
                break
            todo += node["children"] if node["type"] != "slice" else ()
        else:
            return top
    except ParseError as problem:
        token, at = problem.token_value, problem.lex_position
        why = getattr(problem, "message", f"`{token}` cannot stand there" if token else "it ends too early").strip()
    except RecursionError:
        at, why = 0, "it is nested too deep"
    raise UsageError(f"The expression is wrong at column {at + 1}: {why}.", hint=hint, detail={"column": at + 1})


def query(value: Json, expression: str) -> Json:
    """Evaluate an expression on a value; null where it finds nothing. Blocks for a few seconds at most.

    Raises:
        UsageError: as `parsed`; or a part of the expression does not fit the value.
        LimitExceeded: the result would be too large.
    """
    from jmespath.exceptions import JMESPathTypeError
    from jmespath.visitor import TreeInterpreter

    class Interpreter(TreeInterpreter):
        left = _MOST

        def visit(self, node: Any, *args: Any, **kwargs: Any) -> Json:
            found = super().visit(node, *args, **kwargs)
            self.left -= _STEP + (len(json.dumps(found)) if node["type"] in _MAKES else 0)
            if self.left < 0:
                raise LimitExceeded("The expression makes too much of the value.", limit="", hint="Ask for less.")
            return found

    try:
        found = Interpreter().visit(parsed(expression), value)
        dumps(found)  # infinite numbers and expressions are not JSON
        if depth(found, DEFAULT.depth) <= DEFAULT.depth:
            return found
        why = f"what comes of it is nested deeper than {DEFAULT.depth} levels"
    except JMESPathTypeError as problem:  # its own message quotes the whole value
        why = f"{problem.function_name}() takes {' or '.join(problem.expected_types)}, not {problem.actual_type}"
    except RecursionError:
        why = "it is nested too deep"
    except (ValueError, TypeError, ArithmeticError) as problem:
        why = str(problem).rstrip(".")
    raise UsageError(f"The expression does not fit the value: {why}.")
