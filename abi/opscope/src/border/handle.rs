//! Handles: numbers that stand for objects. A freed handle is recognised, because no number is used twice.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use opscope::trace::{ForkRoom, HeldLocks, Mutex, MutexGuard};

use super::Failure;
use super::opscope_status_t::{OPSCOPE_ERROR_BUSY, OPSCOPE_ERROR_INVALID_HANDLE};

/// A handle in C, which stands for an object.
pub trait Handle: Copy {
    /// The type of the object.
    type Object: Any + Send + Sync;
    /// The type's name in messages.
    const NAME: &'static str;

    /// Returns its number.
    fn id(self) -> u64;

    /// Returns the handle with this number.
    fn with_id(id: u64) -> Self;
}

/// Makes a struct with the field `id` the handle of a type.
macro_rules! handle {
    ($handle:ident => $object:ty, $name:literal) => {
        impl $crate::border::Handle for $handle {
            type Object = $object;
            const NAME: &'static str = $name;

            fn id(self) -> u64 {
                self.id
            }

            fn with_id(id: u64) -> Self {
                Self { id }
            }
        }
    };
}
pub(crate) use handle;

#[derive(Default)]
struct Objects {
    objects: HashMap<u64, Arc<dyn Any + Send + Sync>>,
    /// How many handles were created.
    made: u64,
}

static OBJECTS: Mutex<Option<Objects>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Objects>> {
    OBJECTS.lock()
}

/// Stores an object, and returns a new handle for it.
pub fn insert<H: Handle>(object: H::Object) -> H {
    fork_safe();
    let mut locked = lock();
    let objects = locked.get_or_insert_default();
    objects.made += 1;
    let id = objects.made;
    objects.objects.insert(id, Arc::new(object));
    H::with_id(id)
}

/// Stores an object under a number that is never used twice. [`own_number`] returns it for the handle.
pub fn insert_numbered<H: Handle>(number: u64, object: H::Object) -> H {
    fork_safe();
    let id = number | NUMBERED;
    lock().get_or_insert_default().objects.insert(id, Arc::new(object));
    H::with_id(id)
}

/// Marks handles that have the number of their object.
const NUMBERED: u64 = 1 << 63;

/// Returns the number of the object whose handle [`insert_numbered`] has created; for other handles 0, which no object
/// has.
#[inline]
pub fn own_number<H: Handle>(handle: H) -> u64 {
    if handle.id() & NUMBERED == 0 { 0 } else { handle.id() & !NUMBERED }
}

/// Returns the object of a handle.
pub fn get<H: Handle>(handle: H) -> Result<Arc<H::Object>, Failure> {
    let mut locked = lock();
    let objects = locked.get_or_insert_default();
    let found = objects.objects.get(&handle.id()).cloned();
    let made = objects.made;
    drop(locked);
    found.and_then(|object| object.downcast().ok()).ok_or_else(|| invalid(handle, made))
}

/// Removes the object of a handle, which becomes invalid.
pub fn remove<H: Handle>(handle: H) -> Result<Arc<H::Object>, Failure> {
    let object = get(handle)?;
    let mut locked = lock();
    let objects = locked.get_or_insert_default();
    let (removed, made) = (objects.objects.remove(&handle.id()), objects.made);
    drop(locked);
    // Another thread may have removed it meanwhile.
    removed.map(|_| object).ok_or_else(|| invalid(handle, made))
}

/// Removes the object of a handle and returns it. Fails while another call uses the object.
pub fn take<H: Handle>(handle: H) -> Result<H::Object, Failure> {
    let object = get(handle)?;
    let mut locked = lock();
    let objects = locked.get_or_insert_default();
    // This call and the table hold one reference each. Other calls get theirs only from the table, which is locked.
    if objects.objects.contains_key(&handle.id()) && Arc::strong_count(&object) > 2 {
        let text = format!("the {} is in use by another call; wait until that has returned", H::NAME);
        return Err(Failure::new(OPSCOPE_ERROR_BUSY, text));
    }
    let (removed, made) = (objects.objects.remove(&handle.id()), objects.made);
    drop(locked);
    drop(removed);
    Arc::into_inner(object).ok_or_else(|| invalid(handle, made))
}

#[cold]
fn invalid<H: Handle>(handle: H, made: u64) -> Failure {
    let (name, id) = (H::NAME, handle.id());
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let text = match id {
        0 => format!("the {name} is 0: its handle was never set; create it first"),
        id if id <= made || id & NUMBERED != 0 => {
            format!("handle {id} is not {article} {name}: it was freed, or is the handle of something else")
        }
        id => format!("handle {id} is not {article} {name}: no such handle was ever returned"),
    };
    Failure::new(OPSCOPE_ERROR_INVALID_HANDLE, text)
}

/// Makes forks safe: a forking thread holds the lock during the fork, so that the child never finds it held by a thread
/// that it does not have.
fn fork_safe() {
    static ROOM: ForkRoom = ForkRoom::new(|| Box::new(HeldObjects(lock())));
    // Without memory for the registration, only a fork during a call is unsafe.
    let _ = ROOM.register();
}

/// The locked objects during a fork.
struct HeldObjects(#[expect(dead_code, reason = "it is held")] MutexGuard<'static, Option<Objects>>);

impl HeldLocks for HeldObjects {
    fn reset_in_child(self: Box<Self>) {}
}
