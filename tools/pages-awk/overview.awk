# wpool(1), from the list of commands.

BEGIN {
	FS = "\t"
	printf ".TH WPOOL 1 \"\" \"wpool %s\" \"wpool\"\n", version
	print ".SH NAME"
	print "wpool \\- keeps pools of worker processes busy with messages from RabbitMQ"
	print ".SH SYNOPSIS"
	print ".B wpool"
	print ".I COMMAND"
	print "[\\fIOPTION\\fR]..."
	print ".br"
	print ".B wpool \\-\\-help"
	print "|"
	print ".B \\-\\-version"
	print ".SH DESCRIPTION"
	print "Workers are programs in any language: they read a task from a pipe, write an answer, and never"
	print "speak to the broker."
	print ".B wpool serve"
	print "starts them, feeds them, replies, retries, acks, and starts them again when they die."
	print "The other commands watch and steer it, or are clients of the broker."
	print ".SH COMMANDS"
}

{
	gsub(/\\/, "\\e", $2)
	gsub(/-/, "\\-")
	printf ".TP\n.BR wpool\\-%s (1)\n%s\n", $1, $2
}
