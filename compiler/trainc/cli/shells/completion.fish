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
            printf '%s\n' $answer[1..-2]
    end
end
complete -c trainc -f -a '(__trainc_complete)'
