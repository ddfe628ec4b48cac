#!/usr/bin/env python3
"""Compares the options each `winnow` command tells in its --help with the option tables of the README.

Usage: readme_options_test.py README WINNOW
"""
import re
import subprocess
import sys

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
# As --help lists them: at the start of an indented line, perhaps behind a short form.
HELP_LINE = re.compile(r"^\s+(?:-\w,)?--[a-z]")
COMMAND_LINE = re.compile(r"^  ([a-z]+)\s{2,}")
TABLES = ("option", "command")  # how the first heading of an option table begins


def help_of(winnow, *command):
    run = subprocess.run([winnow, *command, "--help"], capture_output=True, text=True, timeout=20)
    if run.returncode != 0 or run.stderr:
        raise SystemExit(f"{' '.join(command)} --help ended with {run.returncode}: {run.stderr}")
    return run.stdout


def options_in_help(text):
    found = set()
    for line in text.splitlines():
        if HELP_LINE.match(line):
            found.update(OPTION.findall(line.split("  ", 2)[1] if line.startswith("  ") else line))
    return found


def commands_in_help(text):
    listed = text.partition("Subcommands:")[2]
    return [match.group(1) for match in map(COMMAND_LINE.match, listed.splitlines()) if match]


def options_in_tables(readme):
    """Those of the tables headed `option` or `command`."""
    found = set()
    inside = False
    before = ""
    for line in readme.splitlines():
        if not line.startswith("|"):
            inside = False
        elif not before.startswith("|"):
            inside = line.strip("| ").lower().startswith(TABLES)
        elif inside:
            found.update(OPTION.findall(line))
        before = line
    return found


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        written = options_in_tables(file.read())
    overview = help_of(sys.argv[2])
    commands = commands_in_help(overview)
    told = {option: "winnow" for option in options_in_help(overview)}
    for command in commands:
        for option in options_in_help(help_of(sys.argv[2], command)):
            told.setdefault(option, "winnow " + command)
    findings = [f"{told[option]} has {option}, which no option table of the README names" for option in
                sorted(set(told) - written)]
    findings += [f"the README names {option}, which no command has" for option in sorted(written - set(told))]
    if len(commands) < 4 or len(told) < 10 or len(written) < 10:
        findings.append(f"too little was found to compare: {commands}, {sorted(told)}, {sorted(written)}")
    for finding in findings:
        print(finding)
    print(f"{len(commands)} commands, {len(told)} options, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
