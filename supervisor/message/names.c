#include "message/names.h"

bool name_is_brokers(struct text key)
{
	return text_is(key, TEXT("x-death")) || text_starts(key, TEXT("x-first-death-")) ||
	       text_starts(key, TEXT("x-last-death-")) || text_is(key, HEADER_DELIVERY_COUNT) ||
	       text_is(key, HEADER_ACQUIRED_COUNT);
}

bool name_is_stripped(struct text key)
{
	return text_is(key, HEADER_CC) || text_is(key, HEADER_BCC) ||
	       text_starts(key, TEXT("x-wpool-")) || name_is_brokers(key);
}

bool name_is_count(struct text key)
{
	return text_is(key, HEADER_ATTEMPT) || text_is(key, HEADER_SLICE) ||
	       text_is(key, HEADER_RENEWED) || text_is(key, HEADER_QUEUE);
}

bool name_is_account(struct text key)
{
	return text_starts(key, TEXT("x-wpool-")) && !text_is(key, HEADER_KEPT_CC) &&
	       !text_is(key, HEADER_KEPT_BCC) && !text_is(key, HEADER_CUT);
}

bool name_for_copy(struct text *key)
{
	if (text_is(*key, HEADER_CC))
		*key = HEADER_KEPT_CC;
	else if (text_is(*key, HEADER_BCC))
		*key = HEADER_KEPT_BCC;
	return !name_is_brokers(*key);
}
