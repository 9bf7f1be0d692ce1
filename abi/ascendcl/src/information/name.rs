//! The name of the device's chip.

use std::ffi::{CString, c_char};
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

use opscope_border::exported;

/// Sets the name.
const VARIABLE: &str = "OPSCOPE_SOC_NAME";
/// Programs choose a model by how the name begins.
const DEFAULT: &str = "Ascend310P3";

/// Returns the name of the device's chip: that of OPSCOPE_SOC_NAME, if it is set when this is called first.
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
