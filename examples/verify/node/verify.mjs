// Checks what `taskseal sign` made, with nothing of taskseal: node:crypto and canonicalize.
//
//   node verify.mjs PROFILE PINS DOCUMENT SIGNATURE    a document and its detached JWS
//   node verify.mjs dharma.task/v1 PINS TASK           a task with its signature inside
//
// The canonical document goes to standard output, and only when everything holds: read that, not
// the file. Exit code 1 is a refusal.

import { createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

import canonicalize from 'canonicalize';

const SKEW = 300_000; // milliseconds that a sender's clock may be ahead

class Refused extends Error {}

function must(holds, reason) {
  if (!holds) throw new Refused(reason);
}

// Strict base64url: Node would skip what it does not know.
function bytes(text) {
  const raw = Buffer.from(String(text), 'base64url');
  must(raw.toString('base64url') === text, 'it is not base64url');
  return raw;
}

function object(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    must(false, 'it is not JSON');
  }
  must(value !== null && typeof value === 'object' && !Array.isArray(value), 'it is no object');
  return value;
}

// The one key that the signature names, if it may sign this profile and was meant to by then.
function keyOf(pins, profile, version, issued, now) {
  const key = pins.keys.find((each) => each.keyVersion === version);
  must(key !== undefined, 'the key is unknown');
  must(key.profiles.includes(profile), 'the key may not sign this profile');
  must(key.revokedAt === undefined, 'the key is revoked');
  must(Date.parse(key.notBefore) <= now, 'the key is not yet valid');
  must(now < Date.parse(key.acceptUntil), 'the key has expired');
  const signUntil = Date.parse(key.signUntil ?? key.acceptUntil);
  must(now < signUntil || issued < signUntil, 'the key is retired');
  return key;
}

function holds(key, message, signature) {
  must(key.alg === 'Ed25519' && signature.length === 64, 'it is no Ed25519 signature');
  const held = createPublicKey({ key: key.publicKey, format: 'jwk' });
  must(verify(null, message, held, signature), 'the signature does not hold');
}

// Written so that a time that cannot be read (NaN) is a refusal.
function current(issued, expires, now) {
  must(issued - SKEW <= now, 'it is not valid yet');
  must(now < expires, 'it has expired');
}

function detached(profile, pins, text, signatureText, now) {
  const file = signatureText.replace(/\r?\n$/, '');
  const compact = /^([\w-]+)\.\.([\w-]+)$/.exec(file);
  const jws = compact ? { protected: compact[1], signature: compact[2] } : object(file);
  const header = object(bytes(jws.protected).toString('utf8'));
  must(['Ed25519', 'EdDSA'].includes(header.alg), 'another algorithm');
  must(header.crit === undefined, 'a critical header that is not known here');
  must(header.typ === `vnd.taskseal.${profile.replaceAll('/', '.')}+jws`, 'for something else');
  must(header.iss === pins.issuer, 'by another issuer');
  const issued = header.iat * 1000;
  const canonical = canonicalize(object(text));
  const payload = Buffer.from(canonical, 'utf8').toString('base64url');
  const key = keyOf(pins, profile, header.kid, issued, now);
  holds(key, Buffer.from(`${jws.protected}.${payload}`), bytes(jws.signature));
  current(issued, header.exp * 1000, now);
  return canonical;
}

function embedded(profile, pins, text, now) {
  const { signature, ...task } = object(text);
  must(profile === 'dharma.task/v1' && task.schema === profile, 'it is no Dharma task');
  const issued = Date.parse(task.createdAt);
  const canonical = canonicalize(task);
  const key = keyOf(pins, profile, task.signerKeyVersion, issued, now);
  holds(key, Buffer.from(canonical, 'utf8'), bytes(signature));
  current(issued, Date.parse(task.expiresAt), now);
  return canonical;
}

const [profile, pinsFile, documentFile, signatureFile] = process.argv.slice(2);
if (documentFile === undefined) {
  console.error('usage: node verify.mjs PROFILE PINS DOCUMENT [SIGNATURE]');
  process.exit(2);
}
const [pins, text] = [JSON.parse(readFileSync(pinsFile, 'utf8')), readFileSync(documentFile, 'utf8')];
try {
  const now = Date.now();
  const canonical = signatureFile
    ? detached(profile, pins, text, readFileSync(signatureFile, 'utf8'), now)
    : embedded(profile, pins, text, now);
  process.stdout.write(canonical);
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(`refused: ${error.message}`);
  process.exitCode = 1;
}
