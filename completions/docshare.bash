# bash completion for docshare; written by: python -m docshare.cli.reference

_docshare_reply() {
    # Offer those of the words that begin with what was typed. Readline replaces only what follows the last : or =.
    local word
    for word; do
        [[ $word == "$typed"* ]] || continue
        COMPREPLY+=("${word:$skip}")
        [[ $word == *= ]] && compopt -o nospace 2>/dev/null
    done
    return 0
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
            '|import') command='import' ;;
            '|files') command='files' ;;
            '|settings') command='settings' ;;
            '|ls') command='ls' ;;
            '|show') command='show' ;;
            '|rm') command='rm' ;;
            '|download') command='download' ;;
            '|replace') command='replace' ;;
            '|claim') command='claim' ;;
            '|variants') command='variants' ;;
            '|invites') command='invites' ;;
            '|assets') command='assets' ;;
            '|qr') command='qr' ;;
            '|push') command='push' ;;
            '|public') command='public' ;;
            '|open') command='open' ;;
            '|events') command='events' ;;
            '|readership') command='readership' ;;
            '|pending') command='pending' ;;
            '|wait') command='wait' ;;
            '|explain') command='explain' ;;
            '|whoami') command='whoami' ;;
            '|serve') command='serve' ;;
            '|admin') command='admin' ;;
            '|profile') command='profile' ;;
            '|completion') command='completion' ;;
            '|help') command='help' ;;
            'files|download') command='files download' ;;
            'files|replace') command='files replace' ;;
            'files|list') command='files list' ;;
            'files|show') command='files show' ;;
            'files|delete') command='files delete' ;;
            'files|restore') command='files restore' ;;
            'settings|get') command='settings get' ;;
            'settings|set') command='settings set' ;;
            'settings|clear') command='settings clear' ;;
            'settings|schema') command='settings schema' ;;
            'settings|export') command='settings export' ;;
            'settings|apply') command='settings apply' ;;
            'settings|copy') command='settings copy' ;;
            'variants|create') command='variants create' ;;
            'variants|list') command='variants list' ;;
            'variants|show') command='variants show' ;;
            'variants|update') command='variants update' ;;
            'variants|revoke') command='variants revoke' ;;
            'variants|restore') command='variants restore' ;;
            'variants|delete') command='variants delete' ;;
            'variants|redact') command='variants redact' ;;
            'variants|export') command='variants export' ;;
            'invites|list') command='invites list' ;;
            'invites|create') command='invites create' ;;
            'assets|add') command='assets add' ;;
            'public|metadata') command='public metadata' ;;
            'public|oembed') command='public oembed' ;;
            'public|qr') command='public qr' ;;
            'events|tail') command='events tail' ;;
            'events|list') command='events list' ;;
            'events|cursor') command='events cursor' ;;
            'events cursor|list') command='events cursor list' ;;
            'events cursor|show') command='events cursor show' ;;
            'events cursor|set') command='events cursor set' ;;
            'events cursor|reset') command='events cursor reset' ;;
            'readership|show') command='readership show' ;;
            'readership|pages') command='readership pages' ;;
            'readership|sessions') command='readership sessions' ;;
            'readership|marks') command='readership marks' ;;
            'readership|annotations') command='readership annotations' ;;
            'readership|notes') command='readership notes' ;;
            'readership|export') command='readership export' ;;
            'readership|report') command='readership report' ;;
            'admin|invite') command='admin invite' ;;
            'admin|login-link') command='admin login-link' ;;
            'admin|sweep') command='admin sweep' ;;
            'admin|check') command='admin check' ;;
            'admin|account') command='admin account' ;;
            'admin|key') command='admin key' ;;
            'admin|trash') command='admin trash' ;;
            'admin|outbox') command='admin outbox' ;;
            'admin|hotspot') command='admin hotspot' ;;
            'admin account|create') command='admin account create' ;;
            'admin account|list') command='admin account list' ;;
            'admin account|set-tier') command='admin account set-tier' ;;
            'admin account|delete') command='admin account delete' ;;
            'admin key|create') command='admin key create' ;;
            'admin key|list') command='admin key list' ;;
            'admin key|revoke') command='admin key revoke' ;;
            'admin trash|list') command='admin trash list' ;;
            'admin trash|restore') command='admin trash restore' ;;
            'admin trash|purge') command='admin trash purge' ;;
            'admin outbox|list') command='admin outbox list' ;;
            'admin outbox|show') command='admin outbox show' ;;
            'admin hotspot|add') command='admin hotspot add' ;;
            'admin hotspot|list') command='admin hotspot list' ;;
            'admin hotspot|remove') command='admin hotspot remove' ;;
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
        'upload|--variants-csv') _docshare_local; return ;;
        'upload|--mode') _docshare_reply standard flipbook swipe magazine; return ;;
        'upload|--password-file') _docshare_local; return ;;
        'upload|--expires') :; return ;;
        'upload|--views') :; return ;;
        'upload|--pages') :; return ;;
        'upload|--email-domain') :; return ;;
        'upload|--slug') :; return ;;
        'upload|--set') _docshare_reply viewerMode=standard viewerMode=flipbook viewerMode=swipe viewerMode=magazine allowDownload=true allowDownload=false showExpiry=true showExpiry=false requireEmail=true requireEmail=false notifyOnView=true notifyOnView=false deleteAt= neverExpire=true neverExpire=false viewLimit= pageRange= gateFields= gateDomains= askReceipt=true askReceipt=false commentsEnabled=true commentsEnabled=false commentsAllowPublic=true commentsAllowPublic=false notifyOnComment=true notifyOnComment=false marksEnabled=true marksEnabled=false annotationsEnabled=true annotationsEnabled=false watermark=true watermark=false slug= detachDesignToolDesign=true detachDesignToolDesign=false designToolUpdatesEnabled=true designToolUpdatesEnabled=false background.type=solid background.type=gradient background.type=image background.color= background.preset=dusk background.preset=sand background.preset=slate background.preset=forest background.preset=blush background.preset=mono background.assetId= background.fit=cover background.fit=contain background.blur= background.dim= logo.assetId= logo.position=tl logo.position=tr logo.position=bl logo.position=br logo.size=s logo.size=m logo.size=l logo.size=xl logo.linkUrl= logo.hideBadge=true logo.hideBadge=false page.shadow= page.rounded= page.edges=true page.edges=false page.coverAlone=true page.coverAlone=false flip.speedMs= flip.sound=true flip.sound=false flip.rtl=true flip.rtl=false flip.layout=adaptive flip.layout=single flip.layout=double swipe.autoAdvance=true swipe.autoAdvance=false swipe.intervalMs= protect.contextMenu=true protect.contextMenu=false protect.print=true protect.print=false protect.select=true protect.select=false protect.blurOnLeave=true protect.blurOnLeave=false ga4Id= brand.accentColor= brand.toolbarTheme=light brand.toolbarTheme=dark brand.toolbarTheme=auto brand.badgePosition=tl brand.badgePosition=tr brand.badgePosition=bl brand.badgePosition=br cta.label= cta.url= cta.style=solid cta.style=outline cta.color= cta.position=tl cta.position=tr cta.position=bl cta.position=br cta.position=bar watermarkStyle.opacity= watermarkStyle.density=sparse watermarkStyle.density=normal watermarkStyle.density=dense; return ;;
        'upload|--settings') _docshare_local; return ;;
        'import|--name') :; return ;;
        'import|--print') :; return ;;
        'files download|--output'|'files download|-o') _docshare_local; return ;;
        'files replace|--name') :; return ;;
        'files list|--filter') :; return ;;
        'files list|--sort') :; return ;;
        'files list|--limit'|'files list|-L') :; return ;;
        'files delete|--confirm') _docshare_cached files; return ;;
        'files delete|--count') :; return ;;
        'settings set|--manage-token-file') _docshare_local; return ;;
        'settings set|--mode') _docshare_reply standard flipbook swipe magazine; return ;;
        'settings set|--password-file') _docshare_local; return ;;
        'settings set|--expires') :; return ;;
        'settings set|--views') :; return ;;
        'settings set|--pages') :; return ;;
        'settings set|--email-domain') :; return ;;
        'settings set|--slug') :; return ;;
        'settings set|--set') _docshare_reply viewerMode=standard viewerMode=flipbook viewerMode=swipe viewerMode=magazine allowDownload=true allowDownload=false showExpiry=true showExpiry=false requireEmail=true requireEmail=false notifyOnView=true notifyOnView=false deleteAt= neverExpire=true neverExpire=false viewLimit= pageRange= gateFields= gateDomains= askReceipt=true askReceipt=false commentsEnabled=true commentsEnabled=false commentsAllowPublic=true commentsAllowPublic=false notifyOnComment=true notifyOnComment=false marksEnabled=true marksEnabled=false annotationsEnabled=true annotationsEnabled=false watermark=true watermark=false slug= detachDesignToolDesign=true detachDesignToolDesign=false designToolUpdatesEnabled=true designToolUpdatesEnabled=false background.type=solid background.type=gradient background.type=image background.color= background.preset=dusk background.preset=sand background.preset=slate background.preset=forest background.preset=blush background.preset=mono background.assetId= background.fit=cover background.fit=contain background.blur= background.dim= logo.assetId= logo.position=tl logo.position=tr logo.position=bl logo.position=br logo.size=s logo.size=m logo.size=l logo.size=xl logo.linkUrl= logo.hideBadge=true logo.hideBadge=false page.shadow= page.rounded= page.edges=true page.edges=false page.coverAlone=true page.coverAlone=false flip.speedMs= flip.sound=true flip.sound=false flip.rtl=true flip.rtl=false flip.layout=adaptive flip.layout=single flip.layout=double swipe.autoAdvance=true swipe.autoAdvance=false swipe.intervalMs= protect.contextMenu=true protect.contextMenu=false protect.print=true protect.print=false protect.select=true protect.select=false protect.blurOnLeave=true protect.blurOnLeave=false ga4Id= brand.accentColor= brand.toolbarTheme=light brand.toolbarTheme=dark brand.toolbarTheme=auto brand.badgePosition=tl brand.badgePosition=tr brand.badgePosition=bl brand.badgePosition=br cta.label= cta.url= cta.style=solid cta.style=outline cta.color= cta.position=tl cta.position=tr cta.position=bl cta.position=br cta.position=bar watermarkStyle.opacity= watermarkStyle.density=sparse watermarkStyle.density=normal watermarkStyle.density=dense; return ;;
        'settings set|--gate') _docshare_local; return ;;
        'settings set|--ga4') :; return ;;
        'settings set|--brand') :; return ;;
        'settings set|--cta-label') :; return ;;
        'settings set|--cta-url') :; return ;;
        'settings set|--watermark-opacity') :; return ;;
        'settings set|--background') _docshare_reply dusk sand slate forest blush mono none; return ;;
        'settings set|--logo') :; return ;;
        'settings set|--from-file') _docshare_local; return ;;
        'settings apply|--file'|'settings apply|-f') _docshare_local; return ;;
        'ls|--filter') :; return ;;
        'ls|--sort') :; return ;;
        'ls|--limit'|'ls|-L') :; return ;;
        'rm|--confirm') _docshare_cached files; return ;;
        'rm|--count') :; return ;;
        'download|--output'|'download|-o') _docshare_local; return ;;
        'replace|--name') :; return ;;
        'claim|--token-file') _docshare_local; return ;;
        'variants create|--label') :; return ;;
        'variants create|--pages') :; return ;;
        'variants create|--count') :; return ;;
        'variants create|--label-template') :; return ;;
        'variants create|--from-csv') _docshare_local; return ;;
        'variants create|--label-column') :; return ;;
        'variants create|--delimiter') :; return ;;
        'variants create|--out') _docshare_local; return ;;
        'variants create|--qr') _docshare_local; return ;;
        'variants show|--file') _docshare_cached files; return ;;
        'variants update|--file') _docshare_cached files; return ;;
        'variants update|--label') :; return ;;
        'variants update|--pages') :; return ;;
        'variants update|--overrides') :; return ;;
        'variants revoke|--file') _docshare_cached files; return ;;
        'variants restore|--file') _docshare_cached files; return ;;
        'variants delete|--file') _docshare_cached files; return ;;
        'variants redact|--file') _docshare_cached files; return ;;
        'variants redact|--confirm') :; return ;;
        'variants redact|--count') :; return ;;
        'variants export|--out') _docshare_local; return ;;
        'invites create|--name') :; return ;;
        'assets add|--kind') :; return ;;
        'qr|--output'|'qr|-o') _docshare_local; return ;;
        'qr|--variant') _docshare_cached variants; return ;;
        'push|--slug') :; return ;;
        'push|--manifest') :; return ;;
        'push|--name') :; return ;;
        'public oembed|--max-width') :; return ;;
        'public oembed|--max-height') :; return ;;
        'public qr|--output'|'public qr|-o') _docshare_local; return ;;
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
        'readership show|--section') _docshare_reply summary views funnel breakdowns times sessions contacts taps variants; return ;;
        'readership show|--since') :; return ;;
        'readership show|--watch') :; return ;;
        'readership sessions|--since') :; return ;;
        'readership marks|--output'|'readership marks|-o') _docshare_local; return ;;
        'readership annotations|--output'|'readership annotations|-o') _docshare_local; return ;;
        'readership export|--output'|'readership export|-o') _docshare_local; return ;;
        'readership report|--output'|'readership report|-o') _docshare_local; return ;;
        'pending|--page') :; return ;;
        'pending|--min-time') :; return ;;
        'pending|--min-share') :; return ;;
        'wait|--variant') _docshare_cached variants; return ;;
        'wait|--invite') :; return ;;
        'wait|--page') :; return ;;
        'wait|--min-time') :; return ;;
        'wait|--timeout') :; return ;;
        'wait|--interval') :; return ;;
        'wait|--give-up-after') :; return ;;
        'explain|--file') _docshare_cached files; return ;;
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
        'admin invite|--name') :; return ;;
        'admin invite|--data') _docshare_local; return ;;
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
        'admin trash list|--data') _docshare_local; return ;;
        'admin trash restore|--data') _docshare_local; return ;;
        'admin trash purge|--confirm') _docshare_cached files; return ;;
        'admin trash purge|--data') _docshare_local; return ;;
        'admin outbox list|--data') _docshare_local; return ;;
        'admin outbox show|--data') _docshare_local; return ;;
        'admin hotspot add|--page') :; return ;;
        'admin hotspot add|--rect') :; return ;;
        'admin hotspot add|--label') :; return ;;
        'admin hotspot add|--link') :; return ;;
        'admin hotspot add|--audio') :; return ;;
        'admin hotspot add|--data') _docshare_local; return ;;
        'admin hotspot list|--data') _docshare_local; return ;;
        'admin hotspot remove|--data') _docshare_local; return ;;
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
        '') commands='upload import files settings ls show rm download replace claim variants invites assets qr push public open events readership pending wait explain whoami serve admin profile completion help' options='' ;;
        'upload') commands='' options='--name --files-from --null -0 --recursive -r --include --print --manifest --update --skip-existing --jobs --fail-fast --check --no-check --qr --copy --open --rollback --variants-csv --dry-run -n --mode --password-file --password-prompt --download --no-download --expires --hide-expiry --show-expiry --views --pages --require-email --no-require-email --email-domain --notify --no-notify --watermark --no-watermark --receipt --no-receipt --slug --set --settings --help -h' ;;
        'import') commands='' options='--name --print --qr --copy --open --help -h' ;;
        'files') commands='download replace list show delete restore' options='--help -h' ;;
        'files download') commands='' options='--output -o --force --help -h' ;;
        'files replace') commands='' options='--name --keep-anchors --check --no-check --dry-run -n --help -h' ;;
        'files list') commands='' options='--filter --sort --limit -L --help -h' ;;
        'files show') commands='' options='--help -h' ;;
        'files delete') commands='' options='--purge --confirm --count --dry-run -n --help -h' ;;
        'files restore') commands='' options='--help -h' ;;
        'settings') commands='get set clear schema export apply copy' options='--help -h' ;;
        'settings get') commands='' options='--help -h' ;;
        'settings set') commands='' options='--replace --validate --no-validate --read-back --no-read-back --strict --diff --manage-token-file --dry-run -n --mode --password-file --password-prompt --download --no-download --expires --hide-expiry --show-expiry --views --pages --require-email --no-require-email --email-domain --notify --no-notify --watermark --no-watermark --receipt --no-receipt --slug --set --comments --no-comments --comments-public --no-comments-public --notify-comments --no-notify-comments --marks --no-marks --annotations --no-annotations --gate --ga4 --brand --cta-label --cta-url --watermark-opacity --background --logo --from-file --help -h' ;;
        'settings clear') commands='' options='--strict --diff --dry-run -n --help -h' ;;
        'settings schema') commands='' options='--help -h' ;;
        'settings export') commands='' options='--help -h' ;;
        'settings apply') commands='' options='--file -f --validate --no-validate --read-back --no-read-back --strict --diff --dry-run -n --help -h' ;;
        'settings copy') commands='' options='--strict --diff --dry-run -n --help -h' ;;
        'ls') commands='' options='--filter --sort --limit -L --help -h' ;;
        'show') commands='' options='--help -h' ;;
        'rm') commands='' options='--purge --confirm --count --dry-run -n --help -h' ;;
        'download') commands='' options='--output -o --force --help -h' ;;
        'replace') commands='' options='--name --keep-anchors --check --no-check --dry-run -n --help -h' ;;
        'claim') commands='' options='--token-file --help -h' ;;
        'variants') commands='create list show update revoke restore delete redact export' options='--help -h' ;;
        'variants create') commands='' options='--label --download --no-download --pages --count --label-template --from-csv --label-column --delimiter --out --qr --skip-duplicates --partial --dry-run -n --help -h' ;;
        'variants list') commands='' options='--active --revoked --redacted --help -h' ;;
        'variants show') commands='' options='--file --help -h' ;;
        'variants update') commands='' options='--file --label --clear-label --download --no-download --pages --overrides --replace-overrides --clear-overrides --dry-run -n --help -h' ;;
        'variants revoke') commands='' options='--file --dry-run -n --help -h' ;;
        'variants restore') commands='' options='--file --dry-run -n --help -h' ;;
        'variants delete') commands='' options='--file --dry-run -n --help -h' ;;
        'variants redact') commands='' options='--file --confirm --count --dry-run -n --help -h' ;;
        'variants export') commands='' options='--out --force --help -h' ;;
        'invites') commands='list create' options='--help -h' ;;
        'invites list') commands='' options='--help -h' ;;
        'invites create') commands='' options='--name --mail --no-mail --help -h' ;;
        'assets') commands='add' options='--help -h' ;;
        'assets add') commands='' options='--kind --apply --dry-run -n --help -h' ;;
        'qr') commands='' options='--output -o --variant --invert --help -h' ;;
        'push') commands='' options='--slug --manifest --name --keep-anchors --dry-run -n --help -h' ;;
        'public') commands='metadata oembed qr' options='--help -h' ;;
        'public metadata') commands='' options='--help -h' ;;
        'public oembed') commands='' options='--max-width --max-height --help -h' ;;
        'public qr') commands='' options='--output -o --invert --help -h' ;;
        'open') commands='' options='--readership --help -h' ;;
        'events') commands='tail list cursor' options='--help -h' ;;
        'events tail') commands='' options='--type --file --require-all --backlog -n --from --cursor --cursor-file --no-cursor --reset --once --count --until-match --until --timeout --idle --interval --overlap --exec --exec-retries --heartbeat --give-up-after --help -h' ;;
        'events list') commands='' options='--type --file --since --limit -n --all --oldest-first --require-all --help -h' ;;
        'events cursor') commands='list show set reset' options='--help -h' ;;
        'events cursor list') commands='' options='--help -h' ;;
        'events cursor show') commands='' options='--help -h' ;;
        'events cursor set') commands='' options='--type --file --help -h' ;;
        'events cursor reset') commands='' options='--help -h' ;;
        'readership') commands='show pages sessions marks annotations notes export report' options='--help -h' ;;
        'readership show') commands='' options='--section --since --watch --help -h' ;;
        'readership pages') commands='' options='--help -h' ;;
        'readership sessions') commands='' options='--since --help -h' ;;
        'readership marks') commands='' options='--output -o --force --help -h' ;;
        'readership annotations') commands='' options='--output -o --force --help -h' ;;
        'readership notes') commands='' options='--help -h' ;;
        'readership export') commands='' options='--output -o --strict --force --help -h' ;;
        'readership report') commands='' options='--output -o --no-thumbnails --open --force --help -h' ;;
        'pending') commands='' options='--page --min-time --min-share --any-version --help -h' ;;
        'wait') commands='' options='--variant --invite --page --min-time --any-version --new --timeout --interval --give-up-after --help -h' ;;
        'explain') commands='' options='--file --help -h' ;;
        'whoami') commands='' options='--help -h' ;;
        'serve') commands='' options='--demo --host --port --data --base-url --tier --open --ephemeral --no-ephemeral --exec --dev --no-dev --log --threads --ready-file --print-env --no-print-env --help -h' ;;
        'admin') commands='invite login-link sweep check account key trash outbox hotspot' options='--data --help -h' ;;
        'admin invite') commands='' options='--name --mail --no-mail --data --help -h' ;;
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
        'admin trash') commands='list restore purge' options='--help -h' ;;
        'admin trash list') commands='' options='--data --help -h' ;;
        'admin trash restore') commands='' options='--data --help -h' ;;
        'admin trash purge') commands='' options='--confirm --data --help -h' ;;
        'admin outbox') commands='list show' options='--help -h' ;;
        'admin outbox list') commands='' options='--data --help -h' ;;
        'admin outbox show') commands='' options='--data --help -h' ;;
        'admin hotspot') commands='add list remove' options='--help -h' ;;
        'admin hotspot add') commands='' options='--page --rect --label --link --audio --data --help -h' ;;
        'admin hotspot list') commands='' options='--data --help -h' ;;
        'admin hotspot remove') commands='' options='--data --help -h' ;;
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
            'files replace') _docshare_cached files ;;
            'files show') _docshare_cached files ;;
            'files delete') _docshare_cached files ;;
            'files restore') _docshare_cached files ;;
            'settings get') _docshare_cached files; _docshare_reply viewerMode password allowDownload showExpiry requireEmail notifyOnView deleteAt neverExpire viewLimit pageRange gateFields gateDomains askReceipt commentsEnabled commentsAllowPublic notifyOnComment marksEnabled annotationsEnabled watermark slug detachDesignToolDesign designToolUpdatesEnabled background.type background.color background.preset background.assetId background.fit background.blur background.dim logo.assetId logo.position logo.size logo.linkUrl logo.hideBadge page.shadow page.rounded page.edges page.coverAlone flip.speedMs flip.sound flip.rtl flip.layout swipe.autoAdvance swipe.intervalMs protect.contextMenu protect.print protect.select protect.blurOnLeave ga4Id brand.accentColor brand.toolbarTheme brand.badgePosition cta.label cta.url cta.style cta.color cta.position watermarkStyle.opacity watermarkStyle.density ;;
            'settings set') _docshare_cached files; _docshare_reply viewerMode=standard viewerMode=flipbook viewerMode=swipe viewerMode=magazine allowDownload=true allowDownload=false showExpiry=true showExpiry=false requireEmail=true requireEmail=false notifyOnView=true notifyOnView=false deleteAt= neverExpire=true neverExpire=false viewLimit= pageRange= gateFields= gateDomains= askReceipt=true askReceipt=false commentsEnabled=true commentsEnabled=false commentsAllowPublic=true commentsAllowPublic=false notifyOnComment=true notifyOnComment=false marksEnabled=true marksEnabled=false annotationsEnabled=true annotationsEnabled=false watermark=true watermark=false slug= detachDesignToolDesign=true detachDesignToolDesign=false designToolUpdatesEnabled=true designToolUpdatesEnabled=false background.type=solid background.type=gradient background.type=image background.color= background.preset=dusk background.preset=sand background.preset=slate background.preset=forest background.preset=blush background.preset=mono background.assetId= background.fit=cover background.fit=contain background.blur= background.dim= logo.assetId= logo.position=tl logo.position=tr logo.position=bl logo.position=br logo.size=s logo.size=m logo.size=l logo.size=xl logo.linkUrl= logo.hideBadge=true logo.hideBadge=false page.shadow= page.rounded= page.edges=true page.edges=false page.coverAlone=true page.coverAlone=false flip.speedMs= flip.sound=true flip.sound=false flip.rtl=true flip.rtl=false flip.layout=adaptive flip.layout=single flip.layout=double swipe.autoAdvance=true swipe.autoAdvance=false swipe.intervalMs= protect.contextMenu=true protect.contextMenu=false protect.print=true protect.print=false protect.select=true protect.select=false protect.blurOnLeave=true protect.blurOnLeave=false ga4Id= brand.accentColor= brand.toolbarTheme=light brand.toolbarTheme=dark brand.toolbarTheme=auto brand.badgePosition=tl brand.badgePosition=tr brand.badgePosition=bl brand.badgePosition=br cta.label= cta.url= cta.style=solid cta.style=outline cta.color= cta.position=tl cta.position=tr cta.position=bl cta.position=br cta.position=bar watermarkStyle.opacity= watermarkStyle.density=sparse watermarkStyle.density=normal watermarkStyle.density=dense ;;
            'settings clear') _docshare_cached files; _docshare_reply password slug gate domains page-range view-limit expiry viewer viewerMode allowDownload showExpiry requireEmail notifyOnView deleteAt neverExpire viewLimit pageRange gateFields gateDomains askReceipt commentsEnabled commentsAllowPublic notifyOnComment marksEnabled annotationsEnabled watermark detachDesignToolDesign designToolUpdatesEnabled background.type background.color background.preset background.assetId background.fit background.blur background.dim logo.assetId logo.position logo.size logo.linkUrl logo.hideBadge page.shadow page.rounded page.edges page.coverAlone flip.speedMs flip.sound flip.rtl flip.layout swipe.autoAdvance swipe.intervalMs protect.contextMenu protect.print protect.select protect.blurOnLeave ga4Id brand.accentColor brand.toolbarTheme brand.badgePosition cta.label cta.url cta.style cta.color cta.position watermarkStyle.opacity watermarkStyle.density ;;
            'settings schema') _docshare_reply viewerMode password allowDownload showExpiry requireEmail notifyOnView deleteAt neverExpire viewLimit pageRange gateFields gateDomains askReceipt commentsEnabled commentsAllowPublic notifyOnComment marksEnabled annotationsEnabled watermark slug detachDesignToolDesign designToolUpdatesEnabled background.type background.color background.preset background.assetId background.fit background.blur background.dim logo.assetId logo.position logo.size logo.linkUrl logo.hideBadge page.shadow page.rounded page.edges page.coverAlone flip.speedMs flip.sound flip.rtl flip.layout swipe.autoAdvance swipe.intervalMs protect.contextMenu protect.print protect.select protect.blurOnLeave ga4Id brand.accentColor brand.toolbarTheme brand.badgePosition cta.label cta.url cta.style cta.color cta.position watermarkStyle.opacity watermarkStyle.density ;;
            'settings export') _docshare_cached files ;;
            'settings apply') _docshare_cached files ;;
            'settings copy') _docshare_cached files ;;
            'show') _docshare_cached files ;;
            'rm') _docshare_cached files ;;
            'download') _docshare_cached files ;;
            'replace') _docshare_cached files ;;
            'variants create') _docshare_cached files ;;
            'variants list') _docshare_cached files ;;
            'variants show') _docshare_cached variants ;;
            'variants update') _docshare_cached variants ;;
            'variants revoke') _docshare_cached variants ;;
            'variants restore') _docshare_cached variants ;;
            'variants delete') _docshare_cached variants ;;
            'variants redact') _docshare_cached variants ;;
            'variants export') _docshare_cached files ;;
            'invites list') _docshare_cached files ;;
            'invites create') _docshare_cached files ;;
            'assets add') _docshare_cached files ;;
            'qr') _docshare_cached files ;;
            'push') _docshare_cached files ;;
            'open') _docshare_cached files ;;
            'readership show') _docshare_cached files ;;
            'readership pages') _docshare_cached files ;;
            'readership sessions') _docshare_cached files ;;
            'readership marks') _docshare_cached files ;;
            'readership annotations') _docshare_cached files ;;
            'readership notes') _docshare_cached files ;;
            'readership export') _docshare_cached files ;;
            'readership report') _docshare_cached files ;;
            'pending') _docshare_cached files ;;
            'wait') _docshare_cached files ;;
            'serve') _docshare_local ;;
            'admin invite') _docshare_cached files ;;
            'admin trash restore') _docshare_cached files ;;
            'admin trash purge') _docshare_cached files ;;
            'admin hotspot add') _docshare_cached files ;;
            'admin hotspot list') _docshare_cached files ;;
            'profile use') _docshare_cached profiles ;;
            'profile remove') _docshare_cached profiles ;;
            'completion') _docshare_reply bash zsh fish powershell ;;
            'help') _docshare_reply environment exit-codes files formatting global cursors plans privacy query ;;
        esac
    fi
}

complete -F _docshare docshare
