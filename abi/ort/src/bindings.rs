//! The inputs that the program has bound, by its bindings. The library cannot be asked for them.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use opscope_engine_onnxruntime::{KeptValue, Refusal};
use opscope_sys::{Mutex, RwLock};

use crate::observed::Observed;

/// The address of a binding of the program, which identifies it.
pub type BindingHandle = usize;

/// The inputs by their names, or why one cannot be read.
type Inputs = BTreeMap<String, Result<KeptValue, Refusal>>;

/// A binding of a session that is observed.
pub struct Bound {
    /// The session, unless it was released before its binding.
    observed: Weak<Observed>,
    inputs: Mutex<Inputs>,
}

static BINDINGS: RwLock<BTreeMap<BindingHandle, Arc<Bound>>> = RwLock::new(BTreeMap::new());

/// Adds a binding that was just made.
pub fn add(handle: BindingHandle, observed: &Arc<Observed>) {
    let bound = Bound { observed: Arc::downgrade(observed), inputs: Mutex::default() };
    let replaced = BINDINGS.write().insert(handle, Arc::new(bound));
    drop(replaced);
}

/// Returns a binding. `None` if it is of a session that is not observed.
pub fn find(handle: BindingHandle) -> Option<Arc<Bound>> {
    BINDINGS.read().get(&handle).cloned()
}

/// Forgets a binding that is about to be released.
pub fn remove(handle: BindingHandle) {
    let removed = BINDINGS.write().remove(&handle);
    // Outside of the lock: the library releases the values.
    drop(removed);
}

impl Bound {
    /// Returns the session, unless it was released.
    pub fn observed(&self) -> Option<Arc<Observed>> {
        self.observed.upgrade()
    }

    /// Notes what an input was bound to.
    pub fn bind(&self, name: String, value: Result<KeptValue, Refusal>) {
        let replaced = self.inputs.lock().insert(name, value);
        drop(replaced);
    }

    /// Forgets all inputs.
    pub fn clear(&self) {
        let inputs = std::mem::take(&mut *self.inputs.lock());
        drop(inputs);
    }

    /// Calls `look` with the inputs.
    pub fn with_inputs<R>(&self, look: impl FnOnce(&Inputs) -> R) -> R {
        look(&self.inputs.lock())
    }
}
