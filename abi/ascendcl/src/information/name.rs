//! The name of the device's chip.

use std::ffi::{CString, c_char};
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

use opscope_border::exported;

/// The environment variable that sets the name.
const VARIABLE: &str = "OPSCOPE_SOC_NAME";
/// The default name. Programs choose a model by the beginning of the name.
const DEFAULT: &str = "Ascend310P3";

/// Returns the name of the device's chip: the value of OPSCOPE_SOC_NAME, if it is set at the first call.
#[exported]
pub fn aclrtGetSocName() -> *const c_char {
    static NAME: OnceLock<CString> = OnceLock::new();
    NAME.get_or_init(|| {
        let set = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
        let name = set.map_or_else(|| DEFAULT.into(), OsStringExt::into_vec);
        CString::new(name).unwrap_or_default()
    })
    .as_ptr()
}
