# SPDX-License-Identifier: MIT
# fish completion for flowback. The program itself lists commands, topics and options, with their texts.

# The command line's program: it may not be in PATH.
function __flowback_program
    set -l tokens (commandline -opc)
    echo $tokens[1]
end

# The command on the line, if there is one.
function __flowback_command
    set -l tokens (commandline -opc)
    test (count $tokens) -ge 2; and echo $tokens[2]
end

# True until the command is there.
function __flowback_needs_command
    test (count (commandline -opc)) -eq 1
end

# True for the words of `flowback help`.
function __flowback_needs_topic
    test (count (commandline -opc)) -eq 2; and test (__flowback_command) = help
end

# NAME<tab>TEXT of each command and topic.
function __flowback_words
    set -l program (__flowback_program)
    $program help 2>/dev/null | string replace -rf '^  ([a-z]+) +(.*)' '$1\t$2'
end

# NAME<tab>TEXT of each option of the command on the line.
function __flowback_options
    set -l name (__flowback_command)
    or return
    set -l program (__flowback_program)
    set -l names
    set -l text ''
    for line in ($program $name --help-all 2>/dev/null) ''
        if string match -qr '^ {26}' -- $line; and test (count $names) -gt 0
            set text (string trim -- "$text "(string trim -- $line))
            continue
        end
        for option in $names
            printf '%s\t%s\n' $option $text
        end
        set names
        if string match -qr '^  -' -- $line
            set -l head (string sub -l 26 -- $line)
            set text (string trim -- (string sub -s 27 -- $line))
            if not string match -qr '^.{24}  ' -- "$line  "
                set head $line
                set text ''
            end
            set names (string match -ar -- '(?<=[ ,])--?[A-Za-z][a-z-]*' " $head")
        end
    end
end

# True where an option begins, and not behind the "--" of record.
function __flowback_wants_option
    set -l tokens (commandline -opc)
    test (count $tokens) -ge 2; and not contains -- -- $tokens
    and string match -q -- '-*' (commandline -ct)
end

complete -c flowback -n __flowback_needs_command -f -a '(__flowback_words)'
complete -c flowback -n __flowback_needs_topic -f -a '(__flowback_words)'
complete -c flowback -n __flowback_wants_option -a '(__flowback_options)'
