// Other people's npm packages behind one pipe: a JSON request a line in, a JSON answer out.
//
// An answer holds `ok` (the package takes the signature, or with `why` refuses it), `made` (what
// it signed or wrote), or `fault`: something that is no verdict of the package, which fails the
// test that asked. Bytes travel as base64url. Documents come as JSON text in any spelling.

import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { createInterface } from 'node:readline';

import canonicalize from 'canonicalize';
import * as jose from 'jose';
import { ml_dsa65 as mldsa65 } from '@noble/post-quantum/ml-dsa.js';
import sigstore from '@sigstore/core';

// The digest of the eddsa-jcs-2022 package looks for a browser's `self`.
globalThis.self = globalThis;
const { DataIntegrityProof } = await import('@digitalbazaar/data-integrity');
const Ed25519Multikey = await import('@digitalbazaar/ed25519-multikey');
const suites = await import('@digitalbazaar/eddsa-jcs-2022-cryptosuite');
const { default: jsigs } = await import('jsonld-signatures');
const a2a = await import('@a2a-js/sdk');

// The SDK reports each signature that it sets aside; answers are all that stands on this pipe.
console.debug = () => {};

class Refused extends Error {}

const encoded = (bytes) => Buffer.from(bytes).toString('base64url');
const decoded = (text) => Buffer.from(text, 'base64url');
const canonical = (text) => Buffer.from(canonicalize(JSON.parse(text)), 'utf8');

function held(holds, why = 'the signature does not hold') {
  if (!holds) throw new Refused(why);
}

// jose

async function joseVerifyDetached({ protected: header, signature, text, key, alg }) {
  const body = canonical(text);
  // With b64 false the package wants the payload as it is, else its base64url.
  const { b64 = true } = JSON.parse(decoded(header).toString());
  const payload = b64 ? encoded(body) : body;
  const jws = { protected: header, signature, payload };
  await jose.flattenedVerify(jws, await jose.importJWK(key, alg), { algorithms: [alg] });
}

async function joseSignDetached({ header, text, key }) {
  const signer = new jose.FlattenedSign(canonical(text)).setProtectedHeader(header);
  const jws = await signer.sign(await jose.importJWK(key, header.alg), {
    crit: header.crit ? { b64: true } : undefined,
  });
  return { protected: jws.protected, signature: jws.signature };
}

async function joseVerifyFlattened({ blob, key, alg }) {
  const options = { algorithms: [alg] };
  const { payload } = await jose.flattenedVerify(blob, await jose.importJWK(key, alg), options);
  return encoded(payload);
}

async function joseSignFlattened({ header, text, key }) {
  const signer = new jose.FlattenedSign(canonical(text)).setProtectedHeader(header);
  return signer.sign(await jose.importJWK(key, header.alg));
}

// One signature at a time: the package is content with any one of several.
async function joseVerifyGeneral({ blob, keys }) {
  let payload = Buffer.alloc(0);
  for (const each of blob.signatures) {
    const alone = { payload: blob.payload, signatures: [each] };
    const found = await jose.generalVerify(alone, ({ kid, alg }) => jose.importJWK(keys[kid], alg));
    payload = found.payload;
  }
  return encoded(payload);
}

async function joseSignGeneral({ headers, text, keys }) {
  const signer = new jose.GeneralSign(canonical(text));
  for (const [index, header] of headers.entries()) {
    const key = await jose.importJWK(keys[index], header.alg);
    signer.addSignature(key).setProtectedHeader(header);
  }
  return signer.sign();
}

// The A2A SDK

async function a2aVerify({ card, keys }) {
  const check = a2a.verifyAgentCardSignature(async (kid) => jose.importJWK(keys[kid]));
  await check(card);
}

async function a2aSign({ card, header, key }) {
  const held = await jose.importJWK(key, header.alg);
  const signed = await a2a.generateAgentCardSignature(held, header)(a2a.AgentCard.fromJSON(card));
  return a2a.AgentCard.toJSON(signed);
}

const a2aCanonicalise = ({ card }) => encoded(a2a.canonicalizeAgentCard(card));

// DSSE: the package's encoding, Node's signatures

function sigstoreVerify({ envelope, keys, threshold }) {
  const payload = Buffer.from(envelope.payload, 'base64');
  const message = sigstore.dsse.preAuthEncoding(envelope.payloadType, payload);
  const good = new Set();
  for (const { keyid, sig } of envelope.signatures) {
    const raw = Buffer.from(sig, 'base64');
    if (keyid in keys && holds(keys[keyid], message, raw)) good.add(keys[keyid].x);
  }
  held(good.size >= threshold, `${good.size} of ${threshold} signatures hold`);
  return encoded(payload);
}

function sigstoreSign({ text, kind, keys }) {
  const payload = canonical(text);
  const message = sigstore.dsse.preAuthEncoding(kind, payload);
  const signatures = Object.entries(keys).map(([keyid, key]) => ({
    keyid,
    sig: signed(key, message).toString('base64'),
  }));
  return { payload: payload.toString('base64'), payloadType: kind, signatures };
}

// W3C Data Integrity

const { AssertionProofPurpose } = jsigs.purposes;

async function multikey(key) {
  const pair = await Ed25519Multikey.fromJwk({ jwk: key, secretKey: 'd' in key });
  const { publicKeyMultibase: text } = await pair.export({ publicKey: true });
  return { pair, controller: `did:key:${text}`, id: `did:key:${text}#${text}`, text };
}

// Knows the one key that is trusted; nothing is fetched.
function loaderOf({ controller, id, text }) {
  const method = {
    '@context': 'https://w3id.org/security/multikey/v1',
    type: 'Multikey',
    id,
    controller,
    publicKeyMultibase: text,
  };
  const owner = { '@context': 'https://www.w3.org/ns/did/v1', id: controller, assertionMethod: [id] };
  const known = { [id]: method, [controller]: owner };
  return async (url) => {
    if (!(url in known)) throw new Refused(`${url} is not the key that is trusted`);
    return { contextUrl: null, documentUrl: url, document: known[url] };
  };
}

async function integrityVerify({ document, key }) {
  const suite = new DataIntegrityProof({ cryptosuite: suites.createVerifyCryptosuite() });
  const found = await jsigs.verify(document, {
    suite,
    purpose: new AssertionProofPurpose(),
    documentLoader: loaderOf(await multikey(key)),
  });
  held(found.verified, String(found.error?.errors ?? found.error));
}

// The proof by itself: `jsigs.sign` would put a context of its own into a document without one.
async function integritySign({ text, key, created }) {
  const { pair, controller, id, ...rest } = await multikey(key);
  const signer = { ...pair.signer(), id, algorithm: 'Ed25519' };
  const cryptosuite = suites.createSignCryptosuite();
  const suite = new DataIntegrityProof({ signer, cryptosuite, date: created });
  const document = JSON.parse(text);
  const proof = await suite.createProof({
    document,
    purpose: new AssertionProofPurpose(),
    proofSet: [],
    documentLoader: loaderOf({ controller, id, ...rest }),
  });
  return { ...document, proof };
}

// node:crypto alone

function holds(key, message, signature) {
  const options = key.kty === 'EC' ? { dsaEncoding: 'ieee-p1363' } : {};
  const held = { key: createPublicKey({ key, format: 'jwk' }), ...options };
  return verify(key.kty === 'EC' ? 'sha256' : null, message, held, signature);
}

function signed(key, message) {
  const options = key.kty === 'EC' ? { dsaEncoding: 'ieee-p1363' } : {};
  const held = { key: createPrivateKey({ key, format: 'jwk' }), ...options };
  return sign(key.kty === 'EC' ? 'sha256' : null, message, held);
}

const canonicalise = ({ text }) => encoded(canonical(text));

function bareVerify({ text, signature, key }) {
  held(holds(key, canonical(text), decoded(signature)));
}

const bareSign = ({ text, key }) => encoded(signed(key, canonical(text)));

// A signature member inside: what is signed is the document without it.
function embeddedVerify({ text, key, member }) {
  const { [member]: signature, ...bare } = JSON.parse(text);
  held(holds(key, Buffer.from(canonicalize(bare)), decoded(signature)));
}

function embeddedSign({ text, key, member }) {
  const bare = JSON.parse(text);
  return { ...bare, [member]: encoded(signed(key, Buffer.from(canonicalize(bare)))) };
}

// Orbiplex, written after its description: SHA-256 over magic, tag and payload with their lengths

function wrapped(tag, payload) {
  const name = Buffer.from(tag, 'utf8');
  const sizes = [Buffer.alloc(4), Buffer.alloc(8)];
  sizes[0].writeUInt32BE(name.length);
  sizes[1].writeBigUInt64BE(BigInt(payload.length));
  const parts = [Buffer.from('orbiplex-sig-v1\0'), sizes[0], name, sizes[1], payload];
  return createHash('sha256').update(Buffer.concat(parts)).digest();
}

async function orbiplexVerify({ text, tag, object, key }) {
  held(object.alg === 'ed25519+domain-v1', 'another algorithm');
  held(object['key/public'] === (await multikey(key)).text, 'another key');
  held(holds(key, wrapped(tag, canonical(text)), decoded(object.value)));
}

async function orbiplexSign({ text, tag, key }) {
  const value = encoded(signed(key, wrapped(tag, canonical(text))));
  return { alg: 'ed25519+domain-v1', 'key/public': (await multikey(key)).text, value };
}

// @noble/post-quantum

function nobleVerify({ message, signature, key }) {
  held(mldsa65.verify(decoded(signature), decoded(message), decoded(key.pub)));
}

function nobleSign({ message, key }) {
  const { secretKey } = mldsa65.keygen(decoded(key.priv));
  return encoded(mldsa65.sign(decoded(message), secretKey));
}

const operations = {
  a2aCanonicalise,
  a2aSign,
  a2aVerify,
  bareSign,
  bareVerify,
  canonicalise,
  embeddedSign,
  embeddedVerify,
  integritySign,
  integrityVerify,
  joseSignDetached,
  joseSignFlattened,
  joseSignGeneral,
  joseVerifyDetached,
  joseVerifyFlattened,
  joseVerifyGeneral,
  nobleSign,
  nobleVerify,
  orbiplexSign,
  orbiplexVerify,
  sigstoreSign,
  sigstoreVerify,
};

const A2A_REFUSAL = 'No valid signatures found on agent card.';

async function answered({ op, ...request }) {
  try {
    return { ok: true, made: await operations[op](request) };
  } catch (error) {
    const verdict =
      error instanceof Refused ||
      error instanceof jose.errors.JWSSignatureVerificationFailed ||
      error.message === A2A_REFUSAL;
    if (verdict) return { ok: false, why: `${error.name}: ${error.message}` };
    return { fault: error.stack ?? String(error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answered(JSON.parse(line)))}\n`);
}
