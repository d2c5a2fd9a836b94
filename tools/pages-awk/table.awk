# Print the arguments of a command, from its help. One line each, separated by tabs: command, then
#   option NAME VALUE TEXT    VALUE is empty for an option without one
#   verb NAME                 one of the words that must come first
#   word KIND                 another argument: POOL, THROTTLE, FILE, COMMAND

BEGIN { FS = "\n"; OFS = "\t" }

function flush() {
	if (name != "")
		print command, "option", name, value, text
	name = ""
}

function trim(words) {
	gsub(/^ +| +$/, "", words)
	return words
}

/^usage: wpool / { in_usage = 1 }
/^$/ { in_usage = 0; flush() }

in_usage {
	line = $0
	gsub(/[(),]/, "", line)
	count = split(line, words, / +/)
	for (i = 1; i <= count; i++) {
		word = words[i]
		if (i > 1 && words[i - 1] == command && word ~ /^[a-z]+(\|[a-z]+)+$/) {
			verbs = split(word, list, "|")
			for (v = 1; v <= verbs; v++)
				print command, "verb", list[v]
		} else if (word ~ /^\[?(POOL|THROTTLE|FILE|COMMAND)\]?/ && words[i - 1] !~ /^--./) {
			gsub(/[^A-Z]/, "", word)
			if (!((command, word) in seen))
				print command, "word", word
			seen[command, word] = 1
		} else if (word ~ /^--[a-z]/) {
			early[word] = words[i + 1] ~ /^[A-Z]+$/ ? words[i + 1] : ""
		}
	}
	next
}

/^  --[a-z]/ {
	flush()
	match($0, /--[a-z-]+/)
	name = substr($0, RSTART, RLENGTH)
	delete early[name]
	rest = substr($0, RSTART + RLENGTH)
	value = ""
	if (rest ~ /^ [^ ]/) {
		split(substr(rest, 2), words, / +/)
		value = words[1]
		rest = substr(rest, 2 + length(value))
	}
	text = trim(rest)
	next
}

# The first line of its description, which may start in the next line.
name != "" && text == "" { text = trim($0) }

END {
	flush()
	for (name in early)
		print command, "option", name, early[name], ""
}
