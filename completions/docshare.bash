# bash completion for docshare; written by: python -m docshare.cli.reference

_docshare_reply() {
    # Offer those of the words that begin with what was typed. Readline replaces only what follows the last : or =.
    local word
    for word; do
        [[ $word == "$typed"* ]] && COMPREPLY+=("${word:$skip}")
    done
}

_docshare_cached() {
    local word _
    while IFS=$'\t' read -r word _; do
        _docshare_reply "$word"
    done < <(command docshare __complete "$1" "$typed" 2>/dev/null)
}

_docshare_local() {
    compopt -o default 2>/dev/null
}

_docshare() {
    local line=${COMP_LINE:0:COMP_POINT} typed= command= before= skip=0 word words=() commands options
    read -ra words <<<"$line"
    if [[ $line != *[[:space:]] ]]; then
        typed=${words[${#words[@]} - 1]}
        unset "words[${#words[@]}-1]"
    fi
    COMPREPLY=()
    for word in "${words[@]:1}"; do
        case $before in
            --profile|--url|--format|--fields|--query|--template|--color|--progress|--timeout|--deadline|--retries|--max-wait|--ca-bundle|--data) before=; continue ;;
        esac
        before=$word
        case "$command|$word" in
            '|upload') command='upload' ;;
            '|files') command='files' ;;
            '|ls') command='ls' ;;
            '|show') command='show' ;;
            '|rm') command='rm' ;;
            '|download') command='download' ;;
            '|qr') command='qr' ;;
            '|open') command='open' ;;
            '|events') command='events' ;;
            '|whoami') command='whoami' ;;
            '|serve') command='serve' ;;
            '|admin') command='admin' ;;
            '|profile') command='profile' ;;
            '|completion') command='completion' ;;
            '|help') command='help' ;;
            'files|download') command='files download' ;;
            'files|list') command='files list' ;;
            'files|show') command='files show' ;;
            'files|delete') command='files delete' ;;
            'events|tail') command='events tail' ;;
            'events|list') command='events list' ;;
            'events|cursor') command='events cursor' ;;
            'events cursor|list') command='events cursor list' ;;
            'events cursor|show') command='events cursor show' ;;
            'events cursor|set') command='events cursor set' ;;
            'events cursor|reset') command='events cursor reset' ;;
            'admin|login-link') command='admin login-link' ;;
            'admin|sweep') command='admin sweep' ;;
            'admin|check') command='admin check' ;;
            'admin|account') command='admin account' ;;
            'admin|key') command='admin key' ;;
            'admin account|create') command='admin account create' ;;
            'admin account|list') command='admin account list' ;;
            'admin account|set-tier') command='admin account set-tier' ;;
            'admin account|delete') command='admin account delete' ;;
            'admin key|create') command='admin key create' ;;
            'admin key|list') command='admin key list' ;;
            'admin key|revoke') command='admin key revoke' ;;
            'profile|list') command='profile list' ;;
            'profile|current') command='profile current' ;;
            'profile|use') command='profile use' ;;
            'profile|add') command='profile add' ;;
            'profile|remove') command='profile remove' ;;
        esac
    done
    if [[ $typed == --*=* ]]; then
        before=${typed%%=*}
        typed=${typed#*=}
    fi
    word=${typed##*[:=]}
    [[ $COMP_WORDBREAKS == *[:=]* ]] && skip=$((${#typed} - ${#word}))
    case "$command|$before" in
        'upload|--name') :; return ;;
        'upload|--files-from') _docshare_local; return ;;
        'upload|--include') :; return ;;
        'upload|--print') :; return ;;
        'upload|--manifest') :; return ;;
        'upload|--jobs') :; return ;;
        'files download|--output'|'files download|-o') _docshare_local; return ;;
        'files list|--filter') :; return ;;
        'files list|--sort') :; return ;;
        'files list|--limit'|'files list|-L') :; return ;;
        'files delete|--confirm') _docshare_cached files; return ;;
        'files delete|--count') :; return ;;
        'ls|--filter') :; return ;;
        'ls|--sort') :; return ;;
        'ls|--limit'|'ls|-L') :; return ;;
        'rm|--confirm') _docshare_cached files; return ;;
        'rm|--count') :; return ;;
        'download|--output'|'download|-o') _docshare_local; return ;;
        'qr|--output'|'qr|-o') _docshare_local; return ;;
        'events tail|--type') :; return ;;
        'events tail|--file') _docshare_cached files; return ;;
        'events tail|--backlog'|'events tail|-n') :; return ;;
        'events tail|--from') :; return ;;
        'events tail|--cursor') :; return ;;
        'events tail|--cursor-file') :; return ;;
        'events tail|--count') :; return ;;
        'events tail|--until-match') :; return ;;
        'events tail|--until') :; return ;;
        'events tail|--timeout') :; return ;;
        'events tail|--idle') :; return ;;
        'events tail|--interval') :; return ;;
        'events tail|--overlap') :; return ;;
        'events tail|--exec') :; return ;;
        'events tail|--exec-retries') :; return ;;
        'events tail|--heartbeat') :; return ;;
        'events tail|--give-up-after') :; return ;;
        'events list|--type') :; return ;;
        'events list|--file') _docshare_cached files; return ;;
        'events list|--since') :; return ;;
        'events list|--limit'|'events list|-n') :; return ;;
        'events cursor set|--type') :; return ;;
        'events cursor set|--file') _docshare_cached files; return ;;
        'serve|--host') :; return ;;
        'serve|--port') :; return ;;
        'serve|--data') _docshare_local; return ;;
        'serve|--base-url') :; return ;;
        'serve|--tier') :; return ;;
        'serve|--exec') :; return ;;
        'serve|--log') :; return ;;
        'serve|--threads') :; return ;;
        'serve|--ready-file') _docshare_local; return ;;
        'admin|--data') _docshare_local; return ;;
        'admin login-link|--data') _docshare_local; return ;;
        'admin sweep|--data') _docshare_local; return ;;
        'admin check|--data') _docshare_local; return ;;
        'admin account create|--name') :; return ;;
        'admin account create|--tier') :; return ;;
        'admin account create|--data') _docshare_local; return ;;
        'admin account list|--data') _docshare_local; return ;;
        'admin account set-tier|--data') _docshare_local; return ;;
        'admin account delete|--confirm') :; return ;;
        'admin account delete|--data') _docshare_local; return ;;
        'admin key create|--name') :; return ;;
        'admin key create|--data') _docshare_local; return ;;
        'admin key list|--data') _docshare_local; return ;;
        'admin key revoke|--data') _docshare_local; return ;;
        'profile add|--url') :; return ;;
        'profile add|--token-command') :; return ;;
    esac
    case "|$before" in
        '|--profile') _docshare_cached profiles; return ;;
        '|--url') :; return ;;
        '|--format') _docshare_reply table plain csv tsv json jsonl ids; return ;;
        '|--fields') :; return ;;
        '|--query') :; return ;;
        '|--template') :; return ;;
        '|--color') _docshare_reply always auto never; return ;;
        '|--progress') _docshare_reply auto bar plain json none; return ;;
        '|--timeout') :; return ;;
        '|--deadline') :; return ;;
        '|--retries') :; return ;;
        '|--max-wait') :; return ;;
        '|--ca-bundle') _docshare_cached files; return ;;
    esac
    commands= options=
    case $command in
        '') commands='upload files ls show rm download qr open events whoami serve admin profile completion help' options='' ;;
        'upload') commands='' options='--name --files-from --null -0 --recursive -r --include --print --manifest --skip-existing --jobs --fail-fast --check --no-check --qr --copy --open --dry-run -n --help -h' ;;
        'files') commands='download list show delete' options='--help -h' ;;
        'files download') commands='' options='--output -o --force --help -h' ;;
        'files list') commands='' options='--filter --sort --limit -L --help -h' ;;
        'files show') commands='' options='--help -h' ;;
        'files delete') commands='' options='--purge --confirm --count --dry-run -n --help -h' ;;
        'ls') commands='' options='--filter --sort --limit -L --help -h' ;;
        'show') commands='' options='--help -h' ;;
        'rm') commands='' options='--purge --confirm --count --dry-run -n --help -h' ;;
        'download') commands='' options='--output -o --force --help -h' ;;
        'qr') commands='' options='--output -o --invert --help -h' ;;
        'open') commands='' options='--help -h' ;;
        'events') commands='tail list cursor' options='--help -h' ;;
        'events tail') commands='' options='--type --file --require-all --backlog -n --from --cursor --cursor-file --no-cursor --reset --once --count --until-match --until --timeout --idle --interval --overlap --exec --exec-retries --heartbeat --give-up-after --help -h' ;;
        'events list') commands='' options='--type --file --since --limit -n --all --oldest-first --require-all --help -h' ;;
        'events cursor') commands='list show set reset' options='--help -h' ;;
        'events cursor list') commands='' options='--help -h' ;;
        'events cursor show') commands='' options='--help -h' ;;
        'events cursor set') commands='' options='--type --file --help -h' ;;
        'events cursor reset') commands='' options='--help -h' ;;
        'whoami') commands='' options='--help -h' ;;
        'serve') commands='' options='--demo --host --port --data --base-url --tier --open --ephemeral --no-ephemeral --exec --dev --no-dev --log --threads --ready-file --print-env --no-print-env --help -h' ;;
        'admin') commands='login-link sweep check account key' options='--data --help -h' ;;
        'admin login-link') commands='' options='--data --help -h' ;;
        'admin sweep') commands='' options='--data --help -h' ;;
        'admin check') commands='' options='--data --help -h' ;;
        'admin account') commands='create list set-tier delete' options='--help -h' ;;
        'admin account create') commands='' options='--name --tier --data --help -h' ;;
        'admin account list') commands='' options='--data --help -h' ;;
        'admin account set-tier') commands='' options='--data --help -h' ;;
        'admin account delete') commands='' options='--confirm --data --help -h' ;;
        'admin key') commands='create list revoke' options='--help -h' ;;
        'admin key create') commands='' options='--name --data --help -h' ;;
        'admin key list') commands='' options='--data --help -h' ;;
        'admin key revoke') commands='' options='--data --help -h' ;;
        'profile') commands='list current use add remove' options='--help -h' ;;
        'profile list') commands='' options='--help -h' ;;
        'profile current') commands='' options='--help -h' ;;
        'profile use') commands='' options='--help -h' ;;
        'profile add') commands='' options='--url --with-token --token-command --use --force --help -h' ;;
        'profile remove') commands='' options='--help -h' ;;
        'completion') commands='' options='--help -h' ;;
        'help') commands='' options='--help -h' ;;
    esac
    if [[ $typed == -* ]]; then
        _docshare_reply $options --profile --url --json --format --fields --query --template --header --no-header --raw-csv --quiet -q --verbose -v --color --no-color --progress --no-input --yes -y --timeout --deadline --retries --max-wait --allow-http --ca-bundle --version --help -h
    elif [[ $commands ]]; then
        _docshare_reply $commands
    else
        case $command in
            'upload') _docshare_local ;;
            'files download') _docshare_cached files ;;
            'files show') _docshare_cached files ;;
            'files delete') _docshare_cached files ;;
            'show') _docshare_cached files ;;
            'rm') _docshare_cached files ;;
            'download') _docshare_cached files ;;
            'qr') _docshare_cached files ;;
            'open') _docshare_cached files ;;
            'serve') _docshare_local ;;
            'profile use') _docshare_cached profiles ;;
            'profile remove') _docshare_cached profiles ;;
            'completion') _docshare_reply bash zsh fish powershell ;;
            'help') _docshare_reply environment exit-codes files formatting global cursors plans privacy query ;;
        esac
    fi
}

complete -F _docshare docshare
