"""The actions of `trainc runtimes`."""

from __future__ import annotations

from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser


from trainc.cli.command import add_configuration, add_release


def add_actions(parser: ArgumentParser) -> None:
    """Add `list` and `show`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    parser.set_defaults(action="list", release=None, config=None)
    listing = actions.add_parser(
        "list",
        help="list names, frameworks and releases (default)",
        formatter_class=parser.formatter_class,
        allow_abbrev=False,
    )
    showing = actions.add_parser(
        "show", help="print the YAML of one runtime", formatter_class=parser.formatter_class, allow_abbrev=False
    )
    showing.add_argument("runtime", metavar="NAME")
    for parser_of_action in (listing, showing):
        add_release(parser_of_action.add_argument)
        add_configuration(parser_of_action)
