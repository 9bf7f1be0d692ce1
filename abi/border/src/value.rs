use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::{Argument, ArgumentError};

/// NULL, or a pointer to a C value that a function reads.
///
/// C guarantees that anything but NULL can be read, and is a value of the type, during the call.
#[repr(transparent)]
pub struct In<'a, T>(*const T, PhantomData<&'a T>);

/// NULL, or a pointer to where C wants a result.
///
/// C guarantees that anything but NULL can be written during the call.
#[repr(transparent)]
pub struct Out<'a, T>(*mut T, PhantomData<&'a mut T>);

/// NULL, or a pointer to a C value that a function reads and writes. C guarantees what it guarantees for [`In`] and for
/// [`Out`].
#[repr(transparent)]
pub struct InOut<'a, T>(*mut T, PhantomData<&'a mut T>);

/// A place for a result that is not NULL.
#[must_use]
pub struct Place<'a, T>(NonNull<T>, PhantomData<&'a mut T>);

impl<T> Clone for In<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<'_, T> {}

impl<'a, T> In<'a, T> {
    /// The NULL pointer.
    pub const NULL: Self = Self(std::ptr::null(), PhantomData);

    /// Takes a pointer from C.
    ///
    /// # Safety
    /// It satisfies the guarantee of this type.
    pub const unsafe fn from_ptr(pointer: *const T) -> Self {
        Self(pointer, PhantomData)
    }

    /// Returns the pointer.
    #[inline]
    pub fn as_ptr(self) -> *const T {
        self.0
    }

    /// Returns whether it is NULL.
    #[inline]
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns whether it is NULL or not aligned for its type.
    #[inline]
    pub fn is_unusable(self) -> bool {
        self.0.is_null() || !self.0.is_aligned()
    }
}

impl<'a, T: Copy> In<'a, T> {
    /// Reads the value, unless it is NULL.
    #[inline]
    pub fn given(self) -> Option<T> {
        // SAFETY: it is not NULL, and the type guarantees the rest. The alignment is not guaranteed.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// Reads the value, which is required.
    #[inline]
    pub fn get(self, name: &'static str) -> Result<T, ArgumentError> {
        self.given().ok_or(ArgumentError::Null { what: Argument::Value, name })
    }
}

impl<'a, T> From<&'a T> for In<'a, T> {
    fn from(value: &'a T) -> Self {
        Self(value, PhantomData)
    }
}

impl<'a, T> Out<'a, T> {
    /// Takes a pointer from C.
    ///
    /// # Safety
    /// It satisfies the guarantee of this type.
    pub const unsafe fn from_ptr(pointer: *mut T) -> Self {
        Self(pointer, PhantomData)
    }

    /// Returns the pointer.
    #[inline]
    pub fn as_ptr(&self) -> *mut T {
        self.0
    }

    /// Returns whether it is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Checks that it is not NULL, before the place is used.
    #[inline]
    pub fn check_given(&self, name: &'static str) -> Result<(), ArgumentError> {
        if self.is_null() { Err(ArgumentError::Null { what: Argument::Place, name }) } else { Ok(()) }
    }

    /// Returns the place, which is required.
    #[inline]
    pub fn place(self, name: &'static str) -> Result<Place<'a, T>, ArgumentError> {
        self.given().ok_or(ArgumentError::Null { what: Argument::Place, name })
    }

    /// Returns the place, which is required and must be aligned for its type.
    #[inline]
    pub fn aligned_place(self, name: &'static str) -> Result<Place<'a, T>, ArgumentError> {
        if !self.0.is_aligned() {
            return Err(ArgumentError::Misaligned(name));
        }
        self.place(name)
    }

    /// Returns the place, unless it is NULL.
    #[inline]
    pub fn given(self) -> Option<Place<'a, T>> {
        NonNull::new(self.0).map(|place| Place(place, PhantomData))
    }

    /// Writes a result to its place, unless that is NULL.
    #[inline]
    pub fn write_if_given(self, value: T) {
        if let Some(place) = self.given() {
            place.write(value);
        }
    }
}

impl<'a, T> From<&'a mut T> for Out<'a, T> {
    fn from(place: &'a mut T) -> Self {
        Self(place, PhantomData)
    }
}

impl<'a, T> InOut<'a, T> {
    /// Takes a pointer from C.
    ///
    /// # Safety
    /// It satisfies the guarantee of this type.
    pub const unsafe fn from_ptr(pointer: *mut T) -> Self {
        Self(pointer, PhantomData)
    }
}

impl<'a, T> From<&'a mut T> for InOut<'a, T> {
    fn from(place: &'a mut T) -> Self {
        Self(place, PhantomData)
    }
}

impl<'a, T: Copy> InOut<'a, T> {
    /// Reads the value, unless it is NULL.
    #[inline]
    pub fn given(self) -> Option<T> {
        In(self.0.cast_const(), PhantomData).given()
    }

    /// Reads the value, which is required and must be aligned for its type. Returns it with its place.
    #[inline]
    pub fn aligned_place(self, name: &'static str) -> Result<(T, Place<'a, T>), ArgumentError> {
        let value = In(self.0.cast_const(), PhantomData).get(name)?;
        Ok((value, Out(self.0, PhantomData).aligned_place(name)?))
    }
}

impl<T> Place<'_, T> {
    /// Writes the result.
    #[inline]
    pub fn write(&self, value: T) {
        // SAFETY: the place is not NULL, and `Out` guarantees that it can be written. The alignment is not guaranteed.
        unsafe { self.0.write_unaligned(value) }
    }

    /// Writes only the first bytes of the place, as many as `head` has.
    #[inline]
    pub fn write_head<H>(&self, head: H) {
        const { assert!(size_of::<H>() <= size_of::<T>()) };
        // SAFETY: as in `write`, and the first part is no longer.
        unsafe { self.0.cast::<H>().write_unaligned(head) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_null_is_neither_read_nor_written() {
        let null = Argument::Value;
        assert_eq!(In::<u32>::NULL.given(), None);
        assert_eq!(In::<u32>::NULL.get("size"), Err(ArgumentError::Null { what: null, name: "size" }));
        // SAFETY: NULL satisfies the guarantee of the type.
        let place = || unsafe { Out::<u32>::from_ptr(std::ptr::null_mut()) };
        place().write_if_given(1);
        assert!(matches!(place().place("to"), Err(ArgumentError::Null { what: Argument::Place, name: "to" })));
        assert!(matches!(place().aligned_place("to"), Err(ArgumentError::Null { .. })));
    }

    #[test]
    fn values_are_read_and_written_where_they_lie() {
        let bytes = [0_u8, 1, 0, 0, 0, 9];
        let mut places = [0_u8; 6];
        // SAFETY: there are four bytes from the second one on.
        let (value, place) = unsafe {
            (In::<u32>::from_ptr(bytes[1..].as_ptr().cast()), Out::<u32>::from_ptr(places[1..].as_mut_ptr().cast()))
        };
        place.place("to").expect("a place").write(value.get("from").expect("a value").to_le() + 1);
        assert_eq!(places, [0, 2, 0, 0, 0, 0]);
    }

    #[test]
    fn a_misaligned_place_is_refused_where_that_is_asked_for() {
        let mut places = [0_u64; 2];
        // SAFETY: it is not written.
        let place = unsafe { Out::<u32>::from_ptr(places.as_mut_ptr().byte_add(2).cast()) };
        assert!(matches!(place.aligned_place("to"), Err(ArgumentError::Misaligned("to"))));
        assert!(Out::from(&mut places[0]).aligned_place("to").is_ok());
    }
}
