"""The completion scripts. They are the same for every version: each asks `trainc __complete` for the candidates."""

from __future__ import annotations

_BASH = """\
# bash completion for trainc. Written by `trainc completion bash`.
_trainc() {
    local line="${COMP_LINE:0:COMP_POINT}" current="" start answer directive
    local -a words
    read -ra words <<< "$line"
    case "$line" in *[[:space:]]) words+=("") ;; esac
    current="${words[${#words[@]}-1]}"
    # bash takes words apart at these signs, and replaces only what follows the last of them.
    start="${current%"${current##*[=:]}"}"
    answer="$("${COMP_WORDS[0]}" __complete "${words[@]:1}" 2>/dev/null)" || return
    directive="${answer##*:}"
    local IFS=$'\\n'
    case "$directive" in
        0|16)
            compopt -o filenames 2>/dev/null
            if [ "$directive" = 16 ]; then directive=-d; else directive=-f; fi
            COMPREPLY=($(compgen "$directive" -- "${current#"$start"}"))
            ;;
        *)
            COMPREPLY=()
            while read -r line; do
                case "$line" in :*) ;; *) COMPREPLY+=("${line#"$start"}") ;; esac
            done <<< "$(cut -f1 <<< "$answer")"
            ;;
    esac
}
complete -F _trainc trainc
"""
_ZSH = """\
#compdef trainc
# zsh completion for trainc. Written by `trainc completion zsh`.
_trainc() {
  local -a answer candidates
  answer=("${(@f)$($words[1] __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  case $answer[-1] in
    :0) _files ;;
    :16) _files -/ ;;
    *)
      # _describe takes a colon between a word and its summary.
      candidates=("${(@)answer[1,-2]//:/\\\\:}")
      candidates=("${(@)candidates/$'\\t'/:}")
      _describe trainc candidates ;;
  esac
}
if [ "$funcstack[1]" = _trainc ]; then
  _trainc "$@"
else
  compdef _trainc trainc
fi
"""
_FISH = """\
# fish completion for trainc. Written by `trainc completion fish`.
function __trainc_complete
    set -l words (commandline -opc)
    set -l answer ($words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null)
    switch "$answer[-1]"
        case :0
            __fish_complete_path (commandline -ct)
        case :16
            __fish_complete_directories (commandline -ct)
        case '*'
            printf '%s\\n' $answer[1..-2]
    end
end
complete -c trainc -f -a '(__trainc_complete)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
