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
    local IFS=$'\n'
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
