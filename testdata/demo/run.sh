# run N COMMAND OUTPUT: as its call N the reviewer runs the command, in a copy if the request shows how. Where it prints
# something else than that, there is no verdict.
run() {
    case $prompt in *" try '"*) set -- "$1" "../ccc try '$2'" "$3" ;; esac
    quote "$2"
    printf '{"type":"assistant","message":{"id":"%s","content":[{"type":"tool_use","name":"Bash","input":{"command":%s}}]}}\n' \
        "$1" "$quoted"
    [ "$(eval "$2" 2>&1)" = "$3" ] || exit
}
