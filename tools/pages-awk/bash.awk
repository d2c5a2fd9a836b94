# Make the completion for bash from the list of commands and the table of their arguments.

BEGIN {
	FS = "\t"
	print "# Completion for bash of wpool's commands and options. Made from their --help."
	print ""
}

FILENAME == ARGV[1] { order[++count] = $1; next }

$2 == "option" {
	options[$1] = options[$1] " " $3
	if ($4 != "")
		values[$1] = values[$1] "\n\t" $1 "=" $3 ") _wpool_value '" $4 "' ;;"
}
$2 == "verb" { verbs[$1] = verbs[$1] " " $3 }
$2 == "word" { words[$1] = words[$1] " " $3 }

END {
	print "# The names that `wpool pools` or `wpool throttles` lists."
	print "_wpool_names() {"
	print "\ttimeout 2 \"${COMP_WORDS[0]}\" \"$1\" --json 2>/dev/null |"
	print "\t\tgrep -o '\"name\": *\"[^\"]*\"' | sed 's/.*\"\\([^\"]*\\)\"$/\\1/'"
	print "}"
	print ""
	print "# Complete $current, the value of an option or a word, by its name in the help."
	print "_wpool_value() {"
	print "\tcase $1 in"
	print "\t*\\|*) mapfile -t COMPREPLY < <(compgen -W \"$(tr '|' '\\n' <<<\"$1\" | grep -v '^[A-Z]')\" -- \"$current\") ;;"
	print "\tFILE | PATH) mapfile -t COMPREPLY < <(compgen -f -- \"$current\") && compopt -o filenames 2>/dev/null ;;"
	print "\tPOOL) mapfile -t COMPREPLY < <(compgen -W \"$(_wpool_names pools)\" -- \"$current\") ;;"
	print "\tTHROTTLE) mapfile -t COMPREPLY < <(compgen -W \"$(_wpool_names throttles)\" -- \"$current\") ;;"
	print "\tCOMMAND) mapfile -t COMPREPLY < <(compgen -c -- \"$current\") ;;"
	print "\tesac"
	print "\treturn 0"
	print "}"
	print ""
	print "_wpool() {"
	print "\tlocal current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}"
	print "\tlocal options= verbs= words= word"
	print "\tCOMPREPLY=()"
	print "\tif [[ $current == = ]]; then # --option=, which is two words here"
	print "\t\tcurrent="
	print "\telif [[ $before == = ]]; then"
	print "\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}"
	print "\tfi"
	print "\tif ((COMP_CWORD == 1)); then"
	printf "\t\tmapfile -t COMPREPLY < <(compgen -W '"
	for (i = 1; i <= count; i++)
		printf "%s ", order[i]
	print "--help --version' -- \"$current\")"
	print "\t\treturn"
	print "\tfi"
	print "\tfor word in \"${COMP_WORDS[@]:2:COMP_CWORD-2}\"; do"
	print "\t\t[[ $word != -- ]] || { _wpool_value COMMAND; return; }"
	print "\tdone"
	print "\tcase $command=$before in"
	for (i = 1; i <= count; i++)
		if (order[i] in values)
			printf "%s", substr(values[order[i]], 2) "\n"
	print "\t*) false ;;"
	print "\tesac && return"
	print "\tcase $command in"
	for (i = 1; i <= count; i++) {
		c = order[i]
		printf "\t%s) options='%s' verbs='%s' words='%s' ;;\n", c, substr(options[c], 2), substr(verbs[c], 2),
			substr(words[c], 2)
	}
	print "\tesac"
	print "\tif [[ $current == -* ]]; then"
	print "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")"
	print "\telif [[ $verbs ]] && ((COMP_CWORD == 2)); then"
	print "\t\tmapfile -t COMPREPLY < <(compgen -W \"$verbs\" -- \"$current\")"
	print "\telif [[ $words && $words != COMMAND ]]; then"
	print "\t\t_wpool_value \"${words%% *}\""
	print "\tfi"
	print "}"
	print ""
	print "complete -F _wpool wpool"
}
