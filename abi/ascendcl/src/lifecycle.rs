//! `aclInit` and `aclFinalize`.

use opscope_border::{Out, Text, exported};

use crate::border::{Failure, codes, keep_per_process};
use crate::configuration::{INITIALIZED, not_initialized, parse, read};
use crate::{contexts, dump, recordings};

/// Initializes the library, with the settings of a file unless `path` is NULL or "". Later calls count, but return
/// 100002 and leave the settings unchanged.
#[exported]
pub fn aclInit(path: Text<'_>) -> Result<(), Failure> {
    let path = path.given().filter(|path| !path.is_empty());
    let content = path.map(read).transpose();
    let config = {
        let mut initialized = INITIALIZED.lock();
        if initialized.count > 0 {
            initialized.count += 1;
            let is_same = content.is_ok_and(|content| content.is_none() || content == initialized.first);
            let text = if is_same {
                "aclInit was called already; this call counts, and its configuration is the first one's"
            } else {
                "aclInit was called already; this call counts, and its configuration, another one, has no effect"
            };
            return Err(Failure::new(codes::REPEAT_INITIALIZE, "EP0008", text));
        }
        // A wrong file is refused before the call counts.
        let content = content?;
        let config = content.as_deref().map(parse).transpose()?;
        (initialized.count, initialized.first) = (1, content);
        config
    };
    keep_per_process(config.as_ref().is_some_and(|config| config.failures_of_process));
    dump::configure(config.as_ref());
    recordings::configure(config.as_ref());
    Ok(())
}

/// Ends the use of the library, however often it was initialized. Waits for the work of all streams, and delivers the
/// chunks that dumps have queued.
#[exported]
pub fn aclFinalize() -> Result<(), Failure> {
    let before = std::mem::take(&mut *INITIALIZED.lock());
    if before.count == 0 {
        return Err(not_initialized(codes::REPEAT_FINALIZE));
    }
    finish();
    Ok(())
}

/// Undoes one call of `aclInit`, and writes how many are left, unless `count` is NULL. The last one ends the use of the
/// library.
#[exported]
pub fn aclFinalizeReference(count: Out<'_, u64>) -> Result<(), Failure> {
    let left = {
        let mut initialized = INITIALIZED.lock();
        let left = initialized.count.checked_sub(1).ok_or_else(|| not_initialized(codes::REPEAT_FINALIZE))?;
        initialized.count = left;
        if left == 0 {
            initialized.first = None;
        }
        left
    };
    count.write_if_given(left);
    if left == 0 {
        finish();
    }
    Ok(())
}

fn finish() {
    // This fails only inside a callback, which would wait for itself. Callbacks that no thread takes are given up.
    let _ = contexts::wait_for_all();
    dump::finish();
    recordings::finish();
}
