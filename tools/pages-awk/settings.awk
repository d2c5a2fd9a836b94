# Make the manual page wpool.yaml(5) of what `wpool check-config --reference` prints: headings, paragraphs, lists, a block of
# code and tables. -v version=VERSION

BEGIN {
	printf ".TH WPOOL.YAML \"5\" \"\" \"wpool %s\" \"wpool\"\n", version
	print ".SH NAME\nwpool.yaml \\- settings of wpool\n.SH DESCRIPTION"
}

# Text in the notation of manual pages.
function shown(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	gsub(/&lt;/, "<", text)
	while (match(text, /`[^`]*`/))
		text = substr(text, 1, RSTART - 1) "\\fB" substr(text, RSTART + 1, RLENGTH - 2) "\\fR" \
			substr(text, RSTART + RLENGTH)
	while (match(text, /(^| )\*[^* ][^*]*\*/)) {
		start = substr(text, RSTART, 1) == " " ? RSTART + 1 : RSTART
		text = substr(text, 1, start - 1) "\\fI" substr(text, start + 1, RSTART + RLENGTH - start - 2) "\\fR" \
			substr(text, RSTART + RLENGTH)
	}
	return text
}

# A line that begins with a dot or a quote would be a request.
function put(text) {
	print (text ~ /^[.']/ ? "\\&" : "") text
}

function put_row(count, cells) {
	print ".TP"
	put(shown(cells[2]))
	if (count == 4) {
		put(shown(cells[3]))
		return
	}
	put(shown(cells[7]))
	print ".br\nTakes " shown(cells[3]) "; default: " shown(cells[4]) "."
	if (cells[5] != "")
		print ".br\nVariable, flag: " shown(cells[5]) "."
	print ".br\nOn a reload: " shown(cells[6]) "."
}

# Put the paragraph whose lines were collected: what is marked in it may go over an end of line.
function flush() {
	if (paragraph != "")
		put(shown(paragraph))
	paragraph = ""
}

/^(#|<!--|```|\||- |$)/ { flush() }
/^```/ { in_code = !in_code; print in_code ? ".PP\n.RS\n.nf" : ".fi\n.RE"; next }
in_code { gsub(/\\/, "\\e"); gsub(/-/, "\\-"); put($0); next }
/^# / || /^<!--/ { next }
/^## / { text = toupper(substr($0, 4)); gsub(/`/, "", text); print ".SH \"" text "\""; next }
/^$/ { print ".PP"; next }
/^\|---/ { in_rows = 1; next }
/^\|/ {
	if (!in_rows)
		next
	gsub(/\\\|/, "\001")
	count = split($0, cells, / *\| */)
	for (i = 1; i <= count; i++)
		gsub(/\001/, "|", cells[i])
	put_row(count, cells)
	next
}
{ in_rows = 0 }
/^- / { print ".IP \\(bu 2"; paragraph = substr($0, 3); next }
{ sub(/^ +/, ""); paragraph = paragraph (paragraph == "" ? "" : " ") $0 }

END {
	flush()
	print ".SH \"SEE ALSO\"\n.BR wpool (1),\n.BR wpool\\-serve (1),\n.BR wpool\\-check\\-config (1)"
}
