"""The `percept` command. A command may need any of Percept's packages, so all are checked."""

from percept._packages import PACKAGES, own_packages

with own_packages(*PACKAGES):
    from percept.command_line import main

if __name__ == "__main__":
    main()
