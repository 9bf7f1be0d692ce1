use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use opscope::local_time;

/// Returns the name of a model's recording, in the vendor's form: `PROF_<6 digits>_<17 digits of the time>_<16
/// letters>`.
pub fn of(model_id: u32) -> String {
    let time = local_time().format("%Y%m%d%H%M%S");
    let milliseconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_millis();
    format!("PROF_{model_id:06}_{time}{milliseconds:03}_{}", letters())
}

/// Returns 16 random letters.
fn letters() -> String {
    let mut random = RandomState::new().hash_one(std::process::id());
    let letter = |_| {
        let letter = b'A' + (random % 26) as u8;
        random /= 26;
        // 26^16 is more than 2^64, so the last letters need a second number.
        if random == 0 {
            random = RandomState::new().hash_one(letter);
        }
        char::from(letter)
    };
    (0..16).map(letter).collect()
}
