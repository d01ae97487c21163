"""RFC 6570: the examples of its section 3.2, and what is no template."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.schema.uritemplate import TemplateError, expand, fits, variables

VALUES: dict[str, Any] = {
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "keys": {"semi": ";", "dot": ".", "comma": ","},
    "v": "6",
    "x": "1024",
    "y": "768",
    "empty": "",
    "empty_keys": {},
    "undef": None,
}


@pytest.mark.parametrize(
    "line",
    """
    {count} one,two,three
    {count*} one,two,three
    {/count} /one,two,three
    {/count*} /one/two/three
    {;count} ;count=one,two,three
    {;count*} ;count=one;count=two;count=three
    {?count} ?count=one,two,three
    {?count*} ?count=one&count=two&count=three
    {&count*} &count=one&count=two&count=three
    {var} value
    {hello} Hello%20World%21
    {half} 50%25
    O{empty}X OX
    O{undef}X OX
    {x,y} 1024,768
    {x,hello,y} 1024,Hello%20World%21,768
    ?{x,empty} ?1024,
    ?{x,undef} ?1024
    ?{undef,y} ?768
    {var:3} val
    {var:30} value
    {list} red,green,blue
    {list*} red,green,blue
    {keys} semi,%3B,dot,.,comma,%2C
    {keys*} semi=%3B,dot=.,comma=%2C
    {+var} value
    {+hello} Hello%20World!
    {+half} 50%25
    {base}index http%3A%2F%2Fexample.com%2Fhome%2Findex
    {+base}index http://example.com/home/index
    O{+empty}X OX
    O{+undef}X OX
    {+path}/here /foo/bar/here
    here?ref={+path} here?ref=/foo/bar
    up{+path}{var}/here up/foo/barvalue/here
    {+x,hello,y} 1024,Hello%20World!,768
    {+path,x}/here /foo/bar,1024/here
    {+path:6}/here /foo/b/here
    {+list} red,green,blue
    {+list*} red,green,blue
    {+keys} semi,;,dot,.,comma,,
    {+keys*} semi=;,dot=.,comma=,
    {#var} #value
    {#hello} #Hello%20World!
    {#half} #50%25
    foo{#empty} foo#
    foo{#undef} foo
    {#x,hello,y} #1024,Hello%20World!,768
    {#path,x}/here #/foo/bar,1024/here
    {#path:6}/here #/foo/b/here
    {#list*} #red,green,blue
    {#keys} #semi,;,dot,.,comma,,
    {#keys*} #semi=;,dot=.,comma=,
    {.who} .fred
    {.who,who} .fred.fred
    {.half,who} .50%25.fred
    www{.dom*} www.example.com
    X{.var} X.value
    X{.empty} X.
    X{.undef} X
    X{.var:3} X.val
    X{.list} X.red,green,blue
    X{.list*} X.red.green.blue
    X{.keys} X.semi,%3B,dot,.,comma,%2C
    X{.keys*} X.semi=%3B.dot=..comma=%2C
    X{.empty_keys} X
    X{.empty_keys*} X
    {/who} /fred
    {/who,who} /fred/fred
    {/half,who} /50%25/fred
    {/who,dub} /fred/me%2Ftoo
    {/var} /value
    {/var,empty} /value/
    {/var,undef} /value
    {/var,x}/here /value/1024/here
    {/var:1,var} /v/value
    {/list} /red,green,blue
    {/list*} /red/green/blue
    {/list*,path:4} /red/green/blue/%2Ffoo
    {/keys} /semi,%3B,dot,.,comma,%2C
    {/keys*} /semi=%3B/dot=./comma=%2C
    {;who} ;who=fred
    {;half} ;half=50%25
    {;empty} ;empty
    {;v,empty,who} ;v=6;empty;who=fred
    {;v,bar,who} ;v=6;who=fred
    {;x,y} ;x=1024;y=768
    {;x,y,empty} ;x=1024;y=768;empty
    {;x,y,undef} ;x=1024;y=768
    {;hello:5} ;hello=Hello
    {;list} ;list=red,green,blue
    {;list*} ;list=red;list=green;list=blue
    {;keys} ;keys=semi,%3B,dot,.,comma,%2C
    {;keys*} ;semi=%3B;dot=.;comma=%2C
    {?who} ?who=fred
    {?half} ?half=50%25
    {?x,y} ?x=1024&y=768
    {?x,y,empty} ?x=1024&y=768&empty=
    {?x,y,undef} ?x=1024&y=768
    {?var:3} ?var=val
    {?list} ?list=red,green,blue
    {?list*} ?list=red&list=green&list=blue
    {?keys} ?keys=semi,%3B,dot,.,comma,%2C
    {?keys*} ?semi=%3B&dot=.&comma=%2C
    {&who} &who=fred
    {&half} &half=50%25
    ?fixed=yes{&x} ?fixed=yes&x=1024
    {&x,y,empty} &x=1024&y=768&empty=
    {&x,y,undef} &x=1024&y=768
    {&var:3} &var=val
    {&list} &list=red,green,blue
    {&list*} &list=red&list=green&list=blue
    {&keys} &keys=semi,%3B,dot,.,comma,%2C
    {&keys*} &semi=%3B&dot=.&comma=%2C
    """.strip().splitlines(),
)
def test_the_examples_of_the_rfc(line: str) -> None:
    template, expected = line.split()
    assert expand(template, VALUES) == expected


@pytest.mark.parametrize(
    ("template", "values", "expected"),
    [
        ("db://{table}", {"table": "naïve/ü"}, "db://na%C3%AFve%2F%C3%BC"),
        ("x:{+v}", {"v": "a%20b%zz"}, "x:a%20b%25zz"),
        ("x:{v}", {"v": 5}, "x:5"),
        ("x:{v}", {"v": True}, "x:true"),
        ("x:{v}", {"v": 2**80}, f"x:{2**80}"),
        ("x:{?v*}", {"v": []}, "x:"),
        ("x:{v}", {"v": "\ud800"}, "x:%3F"),
        ("lit eral<é>", {}, "lit%20eral%3C%C3%A9%3E"),
        ("{user-id}/{a.b}/{%41b}", {"user-id": "7", "a.b": "8", "%41b": "9"}, "7/8/9"),
    ],
)
def test_values_of_any_kind_are_written(template: str, values: dict[str, Any], expected: str) -> None:
    assert expand(template, values) == expected


@pytest.mark.parametrize(
    "template", ["{", "}", "a{b", "{}", "{a b}", "{=a}", "{a:0}", "{a:12345}", "{a**}", "{a,}", "{{a}}"]
)
def test_what_is_no_template_is_refused_with_a_reason(template: str) -> None:
    for use in (variables, lambda text: expand(text, {})):
        with pytest.raises(TemplateError, match="character"):
            use(template)


def test_lists_inside_lists_are_refused() -> None:
    with pytest.raises(TemplateError, match="items of a"):
        expand("{a}", {"a": [["b"]]})


def test_variables_are_told_with_how_they_are_used() -> None:
    found = variables("x{/a*,b:3}{?c}{c}")
    assert [(v.name, v.operator, v.explode, v.prefix) for v in found] == [
        ("a", "/", True, 0),
        ("b", "/", False, 3),
        ("c", "?", False, 0),
        ("c", "", False, 0),
    ]


@given(st.text(max_size=30), st.text(max_size=10))
def test_every_text_is_a_template_or_refused_and_expands_to_a_uri(template: str, value: str) -> None:
    try:
        names = [variable.name for variable in variables(template)]
    except TemplateError:
        return
    assert expand(template, dict.fromkeys(names, value)).isascii()


@pytest.mark.parametrize(
    ("template", "uri", "good"),
    [
        ("a://{x}", "a://b", True), ("a://{x}", "a://b/c", False), ("a://{x}", "a://", False),
        ("a://{+x}", "a://b/c", True), ("a://{x}/d{?q,r}", "a://b/d?q=1", True), ("a://{x}/d{?q}", "a://b/d", True),
        ("a://{x}/d{?q}", "a://b/e", False), ("a:{/x*}", "a:/b/c", True), ("a.b{#x}", "a.b#c", True),
        ("a.b{#x}", "axb#c", False), ("a:{;x}{&y}", "a:;x=1&y=2", True),
        ("a:{", "a:b", False), ("a:" + "{+x}" * 40 + "!", "a:" + "b" * 400, False),
    ],
)  # fmt: skip
def test_an_address_is_told_to_be_of_a_template(template: str, uri: str, good: bool) -> None:
    assert fits(template, uri) is good
