/* MessagePack into a buf, by msgpack-c's packer. Layer: message. Nothing here reports errors: a
 * failed append is recorded in the buf, and the writer of a frame checks that once at the end. */
#ifndef MESSAGE_PACK_H
#define MESSAGE_PACK_H

#include "amqp/table.h"

#include <msgpack.h>

/* A packer that appends to out, which is borrowed as long as the packer is used. */
void pack_init(msgpack_packer *, struct buf *out);

/* As str; bytes that are not UTF-8 become U+FFFD. */
void pack_text(msgpack_packer *, struct text);
/* As str; t must be valid UTF-8. */
void pack_valid_text(msgpack_packer *, struct text);
void pack_bytes(msgpack_packer *, struct text);
/* The length of t after ill-formed parts are replaced. */
size_t pack_repaired_len(struct text);

/* A field's value as text: see field_append_text. */
void pack_field_text(msgpack_packer *, const struct table_field *);
/* A field's value with its type. depth: how many more levels of arrays and tables are allowed;
 * deeper ones become JSON text. Strings that are not UTF-8 become bin, decimals text (MessagePack
 * has none), timestamps ext -1. */
void pack_field_typed(msgpack_packer *, const struct table_field *, unsigned depth);

#endif
