//! Values that another thread reads while the run continues.

use std::hint;
use std::mem;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opscope_model::KeptTensor;
use opscope_onnx::ValueId;
use opscope_sys::Mutex;

/// How long a thread spins for the end of a reader before it sleeps: somewhat longer than reading a megabyte takes.
const SLEEPLESS: Duration = Duration::from_micros(200);

/// The values of a run that were kept and not yet given up.
#[derive(Default)]
pub(crate) struct Keeping {
    kept: Vec<(ValueId, Arc<KeptValue>)>,
    spare: Arc<Spare>,
}

/// Buffers for copies, which are reused: getting new memory from the system takes longer than the copy.
#[derive(Default)]
pub(crate) struct Spare(Mutex<Vec<Vec<u8>>>);

/// A kept value.
struct KeptValue {
    memory: Mutex<Memory>,
    spare: Arc<Spare>,
}

/// The location of a kept value.
enum Memory {
    /// In the library's memory, which stays unchanged until the value is given up.
    Library { data: *const u8, length: usize },
    /// In a copy.
    Copy(Vec<u8>),
    /// Nowhere: it was read, or it is not wanted any more.
    Gone,
}

// SAFETY: any thread may read the library's memory.
unsafe impl Send for Memory {}

/// The handle that another thread receives.
struct Reader(Arc<KeptValue>);

/// How many bytes of spare buffers are kept.
const MOST_SPARE: usize = 64 << 20;

impl Spare {
    fn take(&self, length: usize) -> Vec<u8> {
        let mut spare = self.0.lock();
        let fits = spare.iter().enumerate().filter(|(_, buffer)| (length..=2 * length).contains(&buffer.capacity()));
        match fits.min_by_key(|(_, buffer)| buffer.capacity()).map(|(place, _)| place) {
            Some(place) => spare.swap_remove(place),
            None => Vec::with_capacity(length),
        }
    }

    fn put(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut spare = self.0.lock();
        let spared: usize = spare.iter().map(Vec::capacity).sum();
        if spared + buffer.capacity() <= MOST_SPARE {
            spare.push(buffer);
        }
    }
}

impl Keeping {
    pub fn new(spare: Arc<Spare>) -> Self {
        Self { kept: Vec::new(), spare }
    }

    /// Keeps a value.
    ///
    /// # Safety
    /// The memory has this many bytes, and stays unchanged until the value is given up here.
    pub unsafe fn keep(&mut self, value: ValueId, data: *const u8, length: usize) -> Box<dyn KeptTensor> {
        let memory = Mutex::new(Memory::Library { data, length });
        let kept = Arc::new(KeptValue { memory, spare: Arc::clone(&self.spare) });
        self.kept.push((value, Arc::clone(&kept)));
        Box::new(Reader(kept))
    }

    /// Gives these values up. Values that have yet to be read are copied.
    pub fn give_up(&mut self, values: &[ValueId]) {
        self.kept.retain(|(value, kept)| {
            let is_wanted = !values.contains(value);
            if !is_wanted {
                kept.copy();
            }
            is_wanted
        });
    }
}

impl Keeping {
    /// Gives all values up.
    pub fn give_up_all(&mut self) {
        self.kept.drain(..).for_each(|(_, kept)| kept.copy());
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        self.give_up_all();
    }
}

impl KeptValue {
    /// Copies the value if it is still in the library's memory. If it is being read, waits, which takes less time than
    /// to sleep and wake up.
    fn copy(&self) {
        let start = Instant::now();
        while self.memory.try_lock().is_none() && start.elapsed() < SLEEPLESS {
            hint::spin_loop();
        }
        let mut memory = self.memory.lock();
        if let Memory::Library { data, length } = *memory {
            // SAFETY: guaranteed by the caller of `Keeping::keep`; the value is not given up yet.
            let bytes = unsafe { slice::from_raw_parts(data, length) };
            let mut copy = self.spare.take(length);
            copy.extend_from_slice(bytes);
            *memory = Memory::Copy(copy);
        }
    }
}

impl KeptTensor for Reader {
    fn read(&self, read: &mut dyn FnMut(&[u8])) {
        let mut memory = self.0.memory.lock();
        match mem::replace(&mut *memory, Memory::Gone) {
            // SAFETY: guaranteed by the caller of `Keeping::keep`; the value cannot be given up while it is locked.
            Memory::Library { data, length } => read(unsafe { slice::from_raw_parts(data, length) }),
            Memory::Copy(bytes) => {
                read(&bytes);
                self.0.spare.put(bytes);
            }
            Memory::Gone => {}
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        *self.0.memory.lock() = Memory::Gone;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kept: &dyn KeptTensor) -> Option<Vec<u8>> {
        let mut found = None;
        kept.read(&mut |bytes| found = Some(bytes.to_vec()));
        found
    }

    #[test]
    fn a_value_that_is_given_up_before_it_is_read_is_copied() {
        let mut memory = [1u8, 2, 3];
        let mut keeping = Keeping::default();
        // SAFETY: the memory is changed only after the values were given up.
        let [first, second, third, dropped] =
            [0, 1, 2, 0].map(|id| unsafe { keeping.keep(ValueId::new(id), memory.as_ptr(), 3) });
        drop(dropped);
        assert_eq!(read(&*first), Some(vec![1, 2, 3]));
        assert_eq!(read(&*first), None, "once");
        keeping.give_up(&[ValueId::new(0), ValueId::new(1)]);
        assert_eq!(keeping.kept.len(), 1);
        drop(keeping);
        memory.fill(9);
        assert_eq!((read(&*second), read(&*third)), (Some(vec![1, 2, 3]), Some(vec![1, 2, 3])));
    }
}
