# SPDX-License-Identifier: MIT
# completion.fish COMPLETION PROGRAM: fish offers commands, topics, options and files.
set -g failed 0
set -gx PATH (path dirname (path resolve $argv[2])) $PATH
source $argv[1]

# offers LINE EXPECTED...: each is among the words that fish would offer at the end of the line.
function offers
    set -l words (complete -C "flowback $argv[1]" | string replace -r '\t.*' '')
    for expected in $argv[2..]
        if not contains -- $expected $words
            echo "'$argv[1]' does not offer '$expected', but: $words[1..20]"
            set -g failed 1
        end
    end
end

offers de decode
offers 'help tut' tutorial
offers 'help re' record resync
offers 'decode --by' --by-time --by-cpu
offers 'record --no' --noretcomp --no-tsc
offers 'timeline -' -o --output --svg --html
offers 'record --engine emulate --clo' --clock
cd /
offers 'decode us' usr/
set -l texts (complete -C 'flowback record --noretc')
string match -q '*Disable return compression*' -- $texts; or begin
    echo "no text beside --noretcomp: $texts"
    set -g failed 1
end
exit $failed
