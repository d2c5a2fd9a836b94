'use strict';
// MessagePack as in worker-sdk/PROTOCOL.md, section 12: decode(bytes) and encode(value).
// A map is an object, bin a Buffer, an integer that no number holds a BigInt.

const narrow = (big) => (Number.isSafeInteger(Number(big)) ? Number(big) : big);

function decode(bytes) {
  let at = 0;
  const take = (size) => {
    at += size;
    if (at > bytes.length) throw new RangeError('the frame ends in the middle of an object');
    return bytes.subarray(at - size, at);
  };
  const uint = (size) => (size < 8 ? take(size).readUIntBE(0, size) : narrow(take(8).readBigUInt64BE()));
  const int = (size) => (size < 8 ? take(size).readIntBE(0, size) : narrow(take(8).readBigInt64BE()));
  const str = (size) => take(size).toString();
  const ext = (size) => ({ type: int(1), data: take(size) });
  const array = (count) => Array.from({ length: count }, value);
  const map = (count) => Object.fromEntries(Array.from({ length: count }, () => [value(), value()]));

  function value() {
    const first = uint(1);
    if (first < 0x80) return first;
    if (first < 0x90) return map(first & 0x0f);
    if (first < 0xa0) return array(first & 0x0f);
    if (first < 0xc0) return str(first & 0x1f);
    if (first === 0xc0) return null;
    if (first === 0xc2 || first === 0xc3) return first === 0xc3;
    if (first >= 0xc4 && first <= 0xc6) return take(uint(1 << (first - 0xc4)));
    if (first >= 0xc7 && first <= 0xc9) return ext(uint(1 << (first - 0xc7)));
    if (first === 0xca) return take(4).readFloatBE();
    if (first === 0xcb) return take(8).readDoubleBE();
    if (first >= 0xcc && first <= 0xcf) return uint(1 << (first - 0xcc));
    if (first >= 0xd0 && first <= 0xd3) return int(1 << (first - 0xd0));
    if (first >= 0xd4 && first <= 0xd8) return ext(1 << (first - 0xd4));
    if (first >= 0xd9 && first <= 0xdb) return str(uint(1 << (first - 0xd9)));
    if (first === 0xdc || first === 0xdd) return array(uint(2 << (first - 0xdc)));
    if (first === 0xde || first === 0xdf) return map(uint(2 << (first - 0xde)));
    if (first >= 0xe0) return first - 0x100;
    throw new RangeError('c1 begins no object');
  }

  const result = value();
  if (at < bytes.length) throw new RangeError('bytes follow the object');
  return result;
}

function encode(value) {
  const parts = [];
  const head = (first, size, number) => {
    const bytes = Buffer.alloc(1 + size, first);
    if (size === 8) bytes.writeBigUInt64BE(BigInt.asUintN(64, BigInt(number)), 1);
    else bytes.writeUIntBE(number, 1, size);
    parts.push(bytes);
  };
  // In the fewest bytes: first says one, the numbers behind it say two and four.
  const sized = (first, number) => {
    const width = number < 0x100 ? 0 : number < 0x10000 ? 1 : 2;
    head(first + width, 1 << width, number);
  };
  const integer = (number) => {
    if (number >= -32 && number < 128) parts.push(Buffer.of(Number(number) & 0xff));
    else if (number >= 0 && number < 2 ** 32) sized(0xcc, Number(number));
    else head(number < 0 ? 0xd3 : 0xcf, 8, number);
  };
  const float = (number) => {
    parts.push(Buffer.alloc(9, 0xcb));
    parts.at(-1).writeDoubleBE(number, 1);
  };

  function put(item) {
    if (item === null || item === undefined) parts.push(Buffer.of(0xc0));
    else if (typeof item === 'boolean') parts.push(Buffer.of(item ? 0xc3 : 0xc2));
    else if (typeof item === 'bigint' || Number.isInteger(item)) integer(item);
    else if (typeof item === 'number') float(item);
    else if (typeof item === 'string') sized(0xd9, Buffer.byteLength(item)), parts.push(Buffer.from(item));
    else if (item instanceof Uint8Array) sized(0xc4, item.length), parts.push(item);
    else if (Array.isArray(item)) head(0xdd, 4, item.length), item.forEach(put);
    else head(0xdf, 4, Object.keys(item).length), Object.entries(item).flat().forEach(put);
  }

  put(value);
  return Buffer.concat(parts);
}

module.exports = { decode, encode };
