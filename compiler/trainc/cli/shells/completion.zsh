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
      candidates=("${(@)answer[1,-2]//:/\\:}")
      candidates=("${(@)candidates/$'\t'/:}")
      _describe trainc candidates ;;
  esac
}
if [ "$funcstack[1]" = _trainc ]; then
  _trainc "$@"
else
  compdef _trainc trainc
fi
