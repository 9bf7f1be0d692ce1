//! The long form of XXH3 for AVX2 and AVX-512.

use std::arch::x86_64::__m512i;

use pulp::x86::{V3, V4};
use pulp::{NullaryFnOnce, cast};
use xxhash_rust::const_xxh3::const_custom_default_secret;
use xxhash_rust::xxh3::xxh3_64;

/// The number of bytes that are mixed into the state at once, one word of data into each word of the state.
const STRIPE: usize = 64;

/// The state is scrambled after every block, which has as many stripes as the secret has positions for.
const BLOCK: usize = 1024;

/// The default secret, which is also the one for a seed of 0.
const SECRET: [u8; 192] = const_custom_default_secret(0);

/// The offsets in the secret for scrambling a block, for the last stripe and for merging the state.
const SCRAMBLE: usize = SECRET.len() - STRIPE;
const LAST: usize = SECRET.len() - STRIPE - 7;
const MERGE: usize = 11;

const PRIME_32: [u64; 3] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D];
const PRIME_64: [u64; 5] =
    [0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63, 0x27D4_EB2F_1656_67C5];
const PRIME_MX: u64 = 0x1656_6791_9E37_79F9;

type State = [u64; 8];

pub struct Wide {
    vectors: Vectors,
    state: State,
    total: u64,
    /// The last stripe that was mixed in, followed by the bytes that are not mixed in yet. The last block must wait
    /// until another byte follows it. The last stripe of the data may begin before these bytes.
    buffer: [u8; STRIPE + BLOCK],
    pending: usize,
}

#[derive(Clone, Copy)]
enum Vectors {
    Avx2(V3),
    Avx512(V4),
}

impl Wide {
    /// Returns `None` if the machine has neither AVX2 nor AVX-512.
    pub fn new() -> Option<Self> {
        let vectors = V4::try_new().map(Vectors::Avx512).or_else(|| V3::try_new().map(Vectors::Avx2))?;
        Some(Self::with(vectors))
    }

    fn with(vectors: Vectors) -> Self {
        let ([p1, p2, p3], [q1, q2, q3, q4, q5]) = (PRIME_32, PRIME_64);
        let state = [p3, q1, q2, q3, q4, p2, q5, p1];
        Self { vectors, state, total: 0, buffer: [0; STRIPE + BLOCK], pending: 0 }
    }

    pub fn update(&mut self, mut bytes: &[u8], follows: bool) {
        self.total += bytes.len() as u64;
        if self.pending > 0 {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - self.pending));
            self.keep(now);
            bytes = later;
            if bytes.is_empty() {
                return;
            }
            let block: [u8; BLOCK] = *self.buffer.last_chunk().expect("the buffer ends with a block");
            self.mix(&[block]);
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        // The last block stays in the buffer until it is known that more bytes follow.
        let stays = !follows && rest.is_empty() && !blocks.is_empty();
        let mixed = blocks.len() - usize::from(stays);
        self.mix(&blocks[..mixed]);
        self.keep(&bytes[mixed * BLOCK..]);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let start = STRIPE + self.pending;
        self.buffer[start..start + bytes.len()].copy_from_slice(bytes);
        self.pending += bytes.len();
    }

    /// Mixes blocks into the state and leaves nothing pending.
    fn mix(&mut self, blocks: &[[u8; BLOCK]]) {
        let Some(last) = blocks.last() else { return };
        let state = &mut self.state;
        match self.vectors {
            Vectors::Avx2(simd) => simd.vectorize(Avx2Blocks { state, blocks }),
            Vectors::Avx512(simd) => simd.vectorize(Avx512Blocks { simd, state, blocks }),
        }
        self.buffer[..STRIPE].copy_from_slice(&last[BLOCK - STRIPE..]);
        self.pending = 0;
    }

    pub fn digest(&self) -> u64 {
        let pending = &self.buffer[STRIPE..STRIPE + self.pending];
        // All bytes are still in the buffer. Short inputs have other forms of the hash.
        if self.total <= BLOCK as u64 {
            return xxh3_64(pending);
        }
        let mut state = self.state;
        let stripes = (self.pending - 1) / STRIPE;
        for (index, stripe) in pending.as_chunks().0.iter().take(stripes).enumerate() {
            accumulate(&mut state, stripe, words(secret(index * 8)));
        }
        let last = self.buffer[self.pending..].first_chunk().expect("a stripe lies before what is pending");
        accumulate(&mut state, last, words(secret(LAST)));
        let merged = (0..4).fold(self.total.wrapping_mul(PRIME_64[0]), |merged, pair| {
            let key = words(secret(MERGE + 16 * pair));
            let product = u128::from(state[2 * pair] ^ key[0]) * u128::from(state[2 * pair + 1] ^ key[1]);
            merged.wrapping_add(product as u64 ^ (product >> 64) as u64)
        });
        let mixed = (merged ^ (merged >> 37)).wrapping_mul(PRIME_MX);
        mixed ^ (mixed >> 32)
    }
}

#[inline(always)]
fn secret(start: usize) -> &'static [u8; STRIPE] {
    SECRET[start..].first_chunk().expect("the secret is long enough")
}

#[inline(always)]
fn words(stripe: &[u8; STRIPE]) -> State {
    let (words, _) = stripe.as_chunks();
    std::array::from_fn(|index| u64::from_le_bytes(words[index]))
}

#[inline(always)]
fn accumulate(state: &mut State, stripe: &[u8; STRIPE], key: State) {
    let data = words(stripe);
    for lane in 0..state.len() {
        let keyed = data[lane] ^ key[lane];
        let product = (keyed & 0xFFFF_FFFF) * (keyed >> 32);
        state[lane] = state[lane].wrapping_add(data[lane ^ 1]).wrapping_add(product);
    }
}

/// Plain loops, which the compiler turns into vectors of four words.
struct Avx2Blocks<'a> {
    state: &'a mut State,
    blocks: &'a [[u8; BLOCK]],
}

impl NullaryFnOnce for Avx2Blocks<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut state = *self.state;
        for block in self.blocks {
            let (stripes, _) = block.as_chunks();
            for (index, stripe) in stripes.iter().enumerate() {
                accumulate(&mut state, stripe, words(secret(index * 8)));
            }
            let key = words(secret(SCRAMBLE));
            for lane in 0..state.len() {
                let scrambled = state[lane] ^ (state[lane] >> 47) ^ key[lane];
                state[lane] = scrambled.wrapping_mul(PRIME_32[0]);
            }
        }
        *self.state = state;
    }
}

/// The whole state is one vector. Plain loops are four times as slow here.
struct Avx512Blocks<'a> {
    simd: V4,
    state: &'a mut State,
    blocks: &'a [[u8; BLOCK]],
}

impl NullaryFnOnce for Avx512Blocks<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let simd = self.simd.avx512f;
        let prime = simd._mm512_set1_epi64(PRIME_32[0] as i64);
        let mut state: __m512i = cast(*self.state);
        for block in self.blocks {
            let (stripes, _) = block.as_chunks::<STRIPE>();
            for (index, &stripe) in stripes.iter().enumerate() {
                let (data, key): (__m512i, __m512i) = (cast(stripe), cast(*secret(index * 8)));
                let keyed = simd._mm512_xor_si512(data, key);
                let product = simd._mm512_mul_epu32(keyed, simd._mm512_srli_epi64::<32>(keyed));
                // Swaps the words of each pair.
                let swapped = simd._mm512_shuffle_epi32::<0b01_00_11_10>(data);
                state = simd._mm512_add_epi64(state, simd._mm512_add_epi64(product, swapped));
            }
            let key: __m512i = cast(*secret(SCRAMBLE));
            let shifted = simd._mm512_xor_si512(state, simd._mm512_srli_epi64::<47>(state));
            let keyed = simd._mm512_xor_si512(shifted, key);
            let low = simd._mm512_mul_epu32(keyed, prime);
            let high = simd._mm512_mul_epu32(simd._mm512_srli_epi64::<32>(keyed), prime);
            state = simd._mm512_add_epi64(low, simd._mm512_slli_epi64::<32>(high));
        }
        *self.state = cast(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_vectors_give_the_hash_of_every_length_in_any_pieces() {
        let bytes: Vec<u8> = (0..9000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let vectors = [V3::try_new().map(Vectors::Avx2), V4::try_new().map(Vectors::Avx512)];
        for vectors in vectors.into_iter().flatten() {
            for length in (0..2200).chain([3071, 3072, 3073, 4096, 4160, 9000]) {
                for piece in [1, 63, 64, 700, 1024, 1025, 4096, 9000] {
                    let mut hash = Wide::with(vectors);
                    for start in (0..length).step_by(piece) {
                        let end = length.min(start + piece);
                        hash.update(&bytes[start..end], end < length && start / piece % 3 > 0);
                    }
                    assert_eq!(hash.digest(), xxh3_64(&bytes[..length]), "{length} bytes in pieces of {piece}");
                }
            }
        }
    }
}
