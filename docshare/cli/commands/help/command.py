"""``docshare help``: print help topics and the help of commands."""

from pathlib import Path
from typing import Annotated

import typer

from docshare.cli import topics
from docshare.cli.framework.app import App, render_help
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.main import app as root
from docshare.cli.terminal.output import Spec, is_json_requested
from docshare.cli.terminal.pager import print_paged
from docshare.cli.terminal.text import render_terms

app = App()


@app.command("help")
def show_help(
    words: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC]", help="A topic or a command.")] = None,
    file: Annotated[str | None, typer.Option(metavar="NAME", help="Print a file to copy that the topic names.")] = None,
    web: Annotated[
        bool, typer.Option("--web", help="Serve all topics, commands, and the API as a website on this machine.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="With --web: write the website as files.")] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="N", help="With --web: port to listen on. The default is a free one.", min=0, max=65535),
    ] = None,
) -> None:
    """Explain a topic or a command.

    Without an argument, lists the topics. Each topic is also a manual page, such as man docshare-exit-codes. With
    --web, the whole manual is a website, with the API and a search. It runs until Ctrl-C and loads nothing from
    elsewhere; the address is printed and, on a terminal, opened. The written files work without a server.

    Examples:

      docshare help
      docshare help exit-codes
      docshare help events tail
      docshare help docker --file compose.yaml
      docshare help --web
      docshare help --web --out site
    """
    ctx = current_context()
    if web:
        from docshare.cli.commands.help.website import show_website

        show_website(ctx, out, port, alone=not words and file is None)
    elif out is not None or port is not None:
        raise Stop(ExitCode.USAGE, f"{'--port' if out is None else '--out'} requires --web")
    elif file is not None:
        _print_sample(ctx, words or [], file)
    elif not words:
        _list_topics(ctx)
    elif len(words) == 1 and words[0] in topics.TOPICS:
        _print_topic(ctx, words[0])
    else:
        _print_command(ctx, words)


def _list_topics(ctx: Context) -> None:
    summaries = {topic: topics.read_summary(topic) for topic in topics.TOPICS}
    if is_json_requested(ctx):
        ctx.emit([{"topic": topic, "summary": summary} for topic, summary in summaries.items()], Spec())
        return
    ctx.print("Topics:")
    for line in render_terms(summaries.items()):
        ctx.print(line)
    ctx.print("\nCommands: docshare --help, or docshare help COMMAND")


def _print_topic(ctx: Context, topic: str) -> None:
    text = topics.load(topic)
    if is_json_requested(ctx):
        ctx.emit({"topic": topic, "text": text}, Spec())
        return
    screen = ctx.out_screen
    first, *rest = text.splitlines()
    lines = [screen.paint("bold", line[2:].upper()) if line.startswith("# ") else line for line in rest]
    print_paged(ctx, [screen.paint("bold", first), *lines])


def _print_sample(ctx: Context, words: list[str], name: str) -> None:
    names = topics.SAMPLES.get(" ".join(words), ())
    if name not in names:
        hint = f"Files: {', '.join(names)}." if names else f"Topics with files: {', '.join(topics.SAMPLES)}."
        raise Stop(ExitCode.USAGE, f"no file {name!r} in the topic {' '.join(words)!r}", hint=hint)
    text = topics.load_sample(name)
    if is_json_requested(ctx):
        ctx.emit({"file": name, "text": text}, Spec())
    else:
        ctx.print(text.rstrip("\n"))


def _print_command(ctx: Context, words: list[str]) -> None:
    text = render_help(root, words)
    if text is None:
        raise Stop(ExitCode.USAGE, f"no topic or command {' '.join(words)!r}", hint=_suggest_topics(" ".join(words)))
    if is_json_requested(ctx):
        ctx.emit({"command": " ".join(words), "text": text}, Spec())
    else:
        print_paged(ctx, text.split("\n"))


def _suggest_topics(words: str) -> str:
    """Return a hint with the topics that mention ``words``, or with all topics if none does."""
    matching = [topic for topic in topics.TOPICS if words.casefold() in topics.load(topic).casefold()]
    return f"Topics that mention it: {', '.join(matching)}." if matching else f"Topics: {', '.join(topics.TOPICS)}."
