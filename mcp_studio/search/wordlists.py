"""Words of questions that tell little, and words that mean the same. English and Chinese; written for tools.

General words only: nothing in here is about one server.
"""

from __future__ import annotations

import re

STOP = frozenset(
    "a an the this that these those my our your his her its their me us you him them i we he she it they am is are was"
    " were be been being do does did doing have has had having will would shall should can could may might must of in"
    " on at to for from by with about into onto over under as and or but if then than so such both each every all any"
    " some no not only own same too very just also please help want need like let s t d ll re ve m don there here what"
    " know sure"
    " which who whom whose when where why how hi hello thanks thank kindly lets next after finally first firstly"
    " secondly lastly second third additionally besides furthermore moreover once via per out up down given using use"
    " named called specific certain new".split()
) | frozenset("的了吗呢吧啊我你您他她它们是在和与或及也都就还把被将为对从到给让请能会要想这那些有个")
"""Words that are not looked for, unless a question has no others."""
LOOKING = frozenset(
    "show get list find fetch retrieve obtain gather give tell display view see look check read provide return"
    " latest recent recently current currently today now"
    " 查询 查看 查找 获取 搜索 寻找 找到 找出 显示 列出 告诉 看看 得到 最新 当前 目前 今天 现在".split()
)
"""Verbs of looking, and that it is about now: tools of every server do that, so that it tells less."""
CIRCUMSTANCE = frozenset("with in using named called where".split())
"""What comes after one of these tells less about what to do than what comes before."""
_SAME = """
    delete remove | create add new | get retrieve fetch | list show | update modify edit change | search find lookup
    send post | run execute | save write | rename move | start begin | stop end
    picture image photo | movie film | car vehicle automobile | company organization business | person people user
    email mail | website site webpage | cost price | job task | schedule calendar | song track music | buy purchase
    book reserve booking | translate translation | weather forecast | chart graph plot | location place address
    country nation
    folder directory dir | repository repo repos | doc document | docs documentation | config configuration
    db database databases | app application | auth authentication | param parameter | env environment
    info information | org organization | k8s kubernetes | calc calculate | img image | msg message | lib library
    spec specification | temp temperature temporary | admin administrator | stats statistics | perf performance
    dev development developer | prod production | ref reference | sync synchronize | addr address | lang language
    num number | desc description | cmd command | pkg package | func function | var variable | max maximum
    min minimum | avg average | id identifier | ad advertisement | pic picture | lab laboratory | exam examination
    photo photograph | hr human | pr pull
    ppt pptx powerpoint presentation slides | docx word document | xls xlsx excel spreadsheet | md markdown
    txt text file | py python | js javascript | ts typescript
    csv spreadsheet | png image | jpg image | mp3 audio | wav audio | mp4 video
"""


def _listed() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for group in re.split(r"[|\n]", _SAME):
        for word in group.split():
            found.setdefault(word, []).extend(other for other in group.split() if other != word)
    return {word: tuple(dict.fromkeys(others)) for word, others in found.items()}


SAME = _listed()
"""Other words for a word: what means much the same, and what it is short for."""

THEN = re.compile(
    r"(?<=[.!?;])\s+|[。！？；\n]"
    r"|\b(?:and then|then|and also|finally|next|additionally|besides|after that|also)\b"
    r"|另外|同时|此外|还想|还需要|并且",
    re.IGNORECASE,
)
"""Where a question goes on to something else."""
FRAME = re.compile(
    "请问|请帮我|请帮|帮我|帮忙|麻烦|谢谢|我们|我的|我想要|我想|我要|我正在|我在|我希望|希望|需要|想要|想知道|知道|了解一下"
    "|能否|能不能|可以|能够|是否|你能|你们|您|他们|她们|它们|以及|并且|同时|另外|此外|还有|而且|但是|因为|所以|如果|或者"
    "|关于|对于|根据|通过|使用|进行|一下|一些|一个|一份|一种|这个|那个|这些|那些|什么|怎么|怎样|如何|哪些|哪里|多少|给我"
    "|给出|提供|最近|正在|已经|非常|特别|比较|分别|包括|包含"
)
"""What frames a Chinese question without telling what it is about."""
ASIDE = re.compile(
    r"""https?://\S+|www\.\S+|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.]+|<[^<>\n]{1,60}>"""
    r"""|"[^"\n]{1,300}"|“[^”\n]{1,300}”|「[^」\n]{1,300}」|`[^`\n]{1,300}`|(?<!\w)'[^'\n]{1,300}'(?!\w)|‘[^’\n]{1,300}’(?!\w)"""
    r"""|(?:[A-Za-z]:|~|\.{1,2})?(?:[/\\][\w.\-]+)+[/\\]?|\b[\w-]+\.(?:[a-z]{2,4}|mp[34])\b"""
    r"""|\b(?=\w*[0-9])(?=\w*[A-Za-z])[\w-]{8,}\b|(?<![\w.])[#$€£]?[0-9][0-9.,:%/\-]*(?![A-Za-z_])"""
)
"""Quoted text, paths, addresses, numbers: mostly what to do something with, seldom what to do."""
