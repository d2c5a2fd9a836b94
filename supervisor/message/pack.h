/* MessagePack into a buf, by msgpack-c's packer. Layer: message.
 * Nothing here reports errors: a buf remembers that an append was refused, and the writer of a
 * whole frame looks once. */
#ifndef MESSAGE_PACK_H
#define MESSAGE_PACK_H

#include "amqp/table.h"

#include <msgpack.h>

/* A packer that appends to out, which is borrowed as long as the packer is used. */
void pack_init(msgpack_packer *, struct buf *out);

/* As str; bytes that are not UTF-8 become U+FFFD. */
void pack_text(msgpack_packer *, struct text);
/* As str, which t must be already. */
void pack_valid_text(msgpack_packer *, struct text);
void pack_bytes(msgpack_packer *, struct text);
/* How long t is when repaired. */
size_t pack_repaired_len(struct text);

/* A field's value as text: see field_append_text. */
void pack_field_text(msgpack_packer *, const struct table_field *);
/* A field's value with its type kept. depth: how many more arrays and tables may nest here; what is
 * deeper is JSON text. Strings that are not UTF-8 become bin, decimals text (MessagePack has none),
 * timestamps ext -1. */
void pack_field_typed(msgpack_packer *, const struct table_field *, unsigned depth);

#endif
