use std::sync::{self, MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::time::Duration;

/// [`std::sync::Mutex`] that a panic does not poison.
///
/// No code of opscope leaves a change under a lock half made, so what a panicking thread leaves behind is consistent.
/// With poisoning, a panic in one run would become a panic of every later one.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates a lock.
    pub const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    /// Returns the value, without locking: no other thread can hold the lock.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock if it is free, without waiting.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Returns the value, without locking: no other thread can hold the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// [`std::sync::RwLock`] that a panic does not poison, for the reason that [`Mutex`] gives.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Creates a lock.
    pub const fn new(value: T) -> Self {
        Self(sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits for the lock. Other readers may hold it at the same time.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the lock, and holds it alone.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// [`std::sync::Condvar`] for a [`Mutex`]. Every wait may end without a notification.
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    /// Creates a condition variable.
    pub const fn new() -> Self {
        Self(sync::Condvar::new())
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Waits for a notification.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the condition no longer holds.
    pub fn wait_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.0.wait_while(guard, condition).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a notification, for at most `most`.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, most: Duration) -> MutexGuard<'a, T> {
        self.0.wait_timeout(guard, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until the condition no longer holds, for at most `most`. The caller checks the guarded value to see
    /// whether it still holds.
    pub fn wait_timeout_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        most: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.0.wait_timeout_while(guard, most, condition).unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_panic_under_a_lock_does_not_poison_it() {
        let (mutex, rwlock) = (Mutex::new(1), RwLock::new(1));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let (_mutex, _rwlock) = (mutex.lock(), rwlock.write());
            panic!("while both are held");
        }));
        assert!(panicked.is_err());
        *mutex.lock() += 1;
        *rwlock.write() += 1;
        assert_eq!((*mutex.try_lock().expect("it is free"), *rwlock.read()), (2, 2));
        assert_eq!(mutex.into_inner(), 2);
    }

    #[test]
    fn a_lock_that_is_held_is_not_waited_for_where_it_is_tried() {
        let mutex = Mutex::new(());
        let held = mutex.lock();
        assert!(mutex.try_lock().is_none());
        drop(held);
        assert!(mutex.try_lock().is_some());
    }

    #[test]
    fn waits_end_when_the_condition_no_longer_holds() {
        let (mutex, changed) = (Mutex::new(0), Condvar::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                *mutex.lock() = 7;
                changed.notify_all();
            });
            assert_eq!(*changed.wait_while(mutex.lock(), |value| *value == 0), 7);
        });
    }

    #[test]
    fn a_wait_with_a_limit_ends_there_and_not_before() {
        let (mutex, changed) = (Mutex::new(0), Condvar::new());
        let start = Instant::now();
        let value = changed.wait_timeout_while(mutex.lock(), Duration::from_millis(20), |value| *value == 0);
        assert_eq!(*value, 0);
        assert!(start.elapsed() >= Duration::from_millis(20));
    }
}
