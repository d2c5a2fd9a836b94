# Make the completion for zsh from the list of commands and the table of their arguments.

BEGIN {
	FS = "\t"
	print "#compdef wpool"
	print "# Completion for zsh of wpool's commands and options. Made from their --help."
	print ""
}

# Quote a description for single quotes.
function quoted(words) {
	gsub(/\\/, "\\\\", words)
	gsub(/\[/, "\\[", words)
	gsub(/\]/, "\\]", words)
	gsub(/:/, "\\:", words)
	gsub(/'/, "'\\''", words)
	return words
}

# Return the zsh action that completes a value or a word of that name.
function action(value, choices) {
	if (value ~ /\|/) {
		choices = value
		gsub(/[A-Z]+\|?/, "", choices)
		gsub(/\|/, " ", choices)
		return "(" choices ")"
	}
	if (value == "FILE" || value == "PATH")
		return "_files"
	if (value == "POOL")
		return "_wpool_names pools"
	if (value == "THROTTLE")
		return "_wpool_names throttles"
	return " "
}

FILENAME == ARGV[1] { order[++count] = $1; summary[$1] = $2; next }

$2 == "option" {
	# --header and --match may be repeated.
	many = $5 ~ /repeated/ || $3 == "--match" ? "*" : ""
	spec = many $3 "[" quoted($5) "]"
	if ($4 != "")
		spec = spec ":" quoted($4) ":" action($4)
	specs[$1] = specs[$1] " \\\n\t\t\t'" spec "'"
}
$2 == "verb" { verbs[$1] = verbs[$1] " " $3 }
$2 == "word" {
	if ($3 == "COMMAND")
		tail[$1] = " \\\n\t\t\t'(-)1:COMMAND:_command_names -e' '*::ARG:_normal'"
	else if (!($1 in tail))
		tail[$1] = " \\\n\t\t\t'" ($3 == "FILE" ? "*" : "1") ":" $3 ":" action($3) "'"
}

END {
	print "_wpool_names() {"
	print "\tlocal -a names"
	print "\tnames=(${(f)\"$(timeout 2 wpool \"$1\" --json 2>/dev/null |"
	print "\t\tgrep -o '\"name\": *\"[^\"]*\"' | sed 's/.*\"\\([^\"]*\\)\"$/\\1/')\"})"
	print "\tcompadd -a names"
	print "}"
	print ""
	print "_wpool() {"
	print "\tlocal -a commands"
	print "\tcommands=("
	for (i = 1; i <= count; i++)
		printf "\t\t'%s:%s'\n", order[i], quoted(summary[order[i]])
	print "\t)"
	print "\tif ((CURRENT == 2)); then"
	print "\t\t_describe command commands"
	print "\t\tcompadd -- --help --version"
	print "\t\treturn"
	print "\tfi"
	print "\tshift words"
	print "\t((CURRENT--))"
	print "\tcase $words[1] in"
	for (i = 1; i <= count; i++) {
		c = order[i]
		printf "\t%s)\n\t\t_arguments -s -S%s", c, specs[c]
		if (c in verbs)
			printf " \\\n\t\t\t'1:what to do:(%s)'", substr(verbs[c], 2)
		printf "%s\n\t\t;;\n", tail[c]
	}
	print "\tesac"
	print "}"
	print ""
	print "_wpool \"$@\""
}
