//! The fast comparison of `f32` blocks. The loops are plain, and `pulp` compiles them for the machine's widest vectors.

use pulp::{Arch, Simd, WithSimd};

use super::scalar::Sums;

const SUM_LANES: usize = 16;
const EXTREME_LANES: usize = 32;

/// Returns the sums of a block, or `None` if an element, a difference or a ratio in it is not finite.
pub(super) fn sums(x: &[u8], y: &[u8], relative: f64) -> Option<Sums> {
    let arch = Arch::new();
    let (xs, ys) = (x.as_chunks::<4>().0, y.as_chunks::<4>().0);
    if xs.len() != ys.len() {
        return None;
    }
    let squares = if x == y {
        // In two runs that should agree, most blocks are identical, and then it is enough to read one of them.
        let same = arch.dispatch(Squares { x: &[], y: ys });
        Sums { product: same.y_squares, x_squares: same.y_squares, squares: 0.0, ..same }
    } else {
        arch.dispatch(Squares { x: xs, y: ys })
    };
    if !(squares.x_squares + squares.y_squares).is_finite() {
        return None;
    }
    let mut sums = arch.dispatch(Extremes { x: xs, y: ys, relative: relative as f32 });
    sums.add(&squares);
    (sums.max_absolute + sums.relative).is_finite().then_some(sums)
}

/// Sums squares and products in double precision.
struct Squares<'a> {
    /// Empty if it is the same as `y`.
    x: &'a [[u8; 4]],
    y: &'a [[u8; 4]],
}

impl WithSimd for Squares<'_> {
    type Output = Sums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Sums {
        // Without vectors, `mul_add` is a slow function instead of an instruction.
        let add = |a: f64, b: f64, sum: f64| if S::IS_SCALAR { a * b + sum } else { a.mul_add(b, sum) };
        let mut y_squares = [0f64; SUM_LANES];
        let (y_groups, y_rest) = self.y.as_chunks::<SUM_LANES>();
        for group in y_groups {
            for lane in 0..SUM_LANES {
                let y = f64::from(f32::from_le_bytes(group[lane]));
                y_squares[lane] = add(y, y, y_squares[lane]);
            }
        }
        let (mut x_squares, mut product) = ([0f64; SUM_LANES], [0f64; SUM_LANES]);
        let (x_groups, x_rest) = self.x.as_chunks::<SUM_LANES>();
        for (x_group, y_group) in x_groups.iter().zip(y_groups) {
            for lane in 0..SUM_LANES {
                let x = f64::from(f32::from_le_bytes(x_group[lane]));
                let y = f64::from(f32::from_le_bytes(y_group[lane]));
                x_squares[lane] = add(x, x, x_squares[lane]);
                product[lane] = add(x, y, product[lane]);
            }
        }
        let mut squares = [0f64; SUM_LANES];
        for (x_group, y_group) in x_groups.iter().zip(y_groups) {
            for lane in 0..SUM_LANES {
                let x = f64::from(f32::from_le_bytes(x_group[lane]));
                let difference = x - f64::from(f32::from_le_bytes(y_group[lane]));
                squares[lane] = add(difference, difference, squares[lane]);
            }
        }
        let mut sums = Sums {
            squares: squares.iter().sum(),
            product: product.iter().sum(),
            x_squares: x_squares.iter().sum(),
            y_squares: y_squares.iter().sum(),
            ..Sums::default()
        };
        for &y in y_rest {
            let y = f64::from(f32::from_le_bytes(y));
            sums.y_squares += y * y;
        }
        for (&x, &y) in x_rest.iter().zip(y_rest) {
            let (x, y) = (f64::from(f32::from_le_bytes(x)), f64::from(f32::from_le_bytes(y)));
            sums.squares += (x - y) * (x - y);
            sums.product += x * y;
            sums.x_squares += x * x;
        }
        sums
    }
}

/// Computes all other sums, of pairs that are all finite.
struct Extremes<'a> {
    x: &'a [[u8; 4]],
    y: &'a [[u8; 4]],
    relative: f32,
}

/// The sums of one lane.
struct Lane {
    absolute: f32,
    reference: f32,
    excess: f32,
    max_relative: f32,
    relative: f32,
    with_relative: u32,
    equal: u32,
    ulp: u32,
}

impl WithSimd for Extremes<'_> {
    type Output = Sums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Sums {
        let count = self.x.len() as u64;
        let mut sums = Sums { count, compared: count, ..Sums::default() };
        let (x_groups, x_rest) = self.x.as_chunks::<EXTREME_LANES>();
        let (y_groups, y_rest) = self.y.as_chunks::<EXTREME_LANES>();

        let (mut absolute, mut reference) = ([0f32; EXTREME_LANES], [0f32; EXTREME_LANES]);
        let (mut excess, mut equal) = ([0f32; EXTREME_LANES], [0u32; EXTREME_LANES]);
        for (x_group, y_group) in x_groups.iter().zip(y_groups) {
            for lane in 0..EXTREME_LANES {
                let (x, y) = (f32::from_le_bytes(x_group[lane]), f32::from_le_bytes(y_group[lane]));
                let difference = (x - y).abs();
                let over = difference - self.relative * y.abs();
                absolute[lane] = if difference > absolute[lane] { difference } else { absolute[lane] };
                reference[lane] = if y.abs() > reference[lane] { y.abs() } else { reference[lane] };
                excess[lane] = if over > excess[lane] { over } else { excess[lane] };
                equal[lane] += u32::from(x == y);
            }
        }
        let (mut max_relative, mut relative) = ([0f32; EXTREME_LANES], [0f32; EXTREME_LANES]);
        let mut with_relative = [0u32; EXTREME_LANES];
        for (x_group, y_group) in x_groups.iter().zip(y_groups) {
            for lane in 0..EXTREME_LANES {
                let (x, y) = (f32::from_le_bytes(x_group[lane]), f32::from_le_bytes(y_group[lane]));
                let counts = y.abs() > f64::EPSILON as f32;
                let share = if counts { (x - y).abs() / y.abs() } else { 0.0 };
                relative[lane] += share;
                max_relative[lane] = if share > max_relative[lane] { share } else { max_relative[lane] };
                with_relative[lane] += u32::from(counts);
            }
        }
        let mut ulp = [0u32; EXTREME_LANES];
        for (x_group, y_group) in x_groups.iter().zip(y_groups) {
            for lane in 0..EXTREME_LANES {
                let apart = ordered(x_group[lane]).abs_diff(ordered(y_group[lane]));
                ulp[lane] = ulp[lane].max(apart);
            }
        }
        for lane in 0..EXTREME_LANES {
            sums.join(Lane {
                absolute: absolute[lane],
                reference: reference[lane],
                excess: excess[lane],
                max_relative: max_relative[lane],
                relative: relative[lane],
                with_relative: with_relative[lane],
                equal: equal[lane],
                ulp: ulp[lane],
            });
        }
        for (&x_bytes, &y_bytes) in x_rest.iter().zip(y_rest) {
            let (x, y) = (f32::from_le_bytes(x_bytes), f32::from_le_bytes(y_bytes));
            let difference = (x - y).abs();
            let counts = y.abs() > f64::EPSILON as f32;
            let share = if counts { difference / y.abs() } else { 0.0 };
            sums.join(Lane {
                absolute: difference,
                reference: y.abs(),
                excess: (difference - self.relative * y.abs()).max(0.0),
                max_relative: share,
                relative: share,
                with_relative: u32::from(counts),
                equal: u32::from(x == y),
                ulp: ordered(x_bytes).abs_diff(ordered(y_bytes)),
            });
        }
        sums
    }
}

impl Sums {
    fn join(&mut self, lane: Lane) {
        self.max_absolute = self.max_absolute.max(f64::from(lane.absolute));
        self.max_reference = self.max_reference.max(f64::from(lane.reference));
        self.excess = self.excess.max(f64::from(lane.excess));
        self.max_relative = self.max_relative.max(f64::from(lane.max_relative));
        self.relative += f64::from(lane.relative);
        self.with_relative += u64::from(lane.with_relative);
        self.equal += u64::from(lane.equal);
        self.max_ulp = self.max_ulp.max(u64::from(lane.ulp));
    }
}

/// Returns the rank of a number in the order of all numbers. The bits of a number are a sign and a magnitude.
#[inline(always)]
fn ordered(bytes: [u8; 4]) -> i32 {
    let bits = i32::from_le_bytes(bytes);
    let magnitude = bits & i32::MAX;
    if bits < 0 { -magnitude } else { magnitude }
}
