//! Clients of a server, by number.

use std::fmt;

/// Number of a client at one [`UdpServer`](crate::UdpServer). Numbers of clients that left are not used again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UdpClientId {
    pub(crate) index: u32,
    /// Tells clients apart that have had the same place.
    generation: u32,
}

impl fmt::Debug for UdpClientId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.index, self.generation)
    }
}

/// Places of clients. A place is used again after its client has left.
#[derive(Debug)]
pub(crate) struct ClientSlab<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> ClientSlab<T> {
    pub fn new() -> ClientSlab<T> {
        ClientSlab { places: Vec::new(), free: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub fn insert(&mut self, value: T) -> UdpClientId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, value: None });
            u32::try_from(self.places.len() - 1).expect("memory ends before the numbers do")
        });
        let place = &mut self.places[index as usize];
        place.value = Some(value);
        UdpClientId { index, generation: place.generation }
    }

    pub fn remove(&mut self, id: UdpClientId) -> Option<T> {
        let place = self.places.get_mut(id.index as usize).filter(|place| place.generation == id.generation)?;
        let value = place.value.take()?;
        // A place whose numbers are used up is never filled again.
        if let Some(generation) = place.generation.checked_add(1) {
            place.generation = generation;
            self.free.push(id.index);
        }
        Some(value)
    }

    pub fn get(&self, id: UdpClientId) -> Option<&T> {
        self.places.get(id.index as usize).filter(|place| place.generation == id.generation)?.value.as_ref()
    }

    pub fn get_mut(&mut self, id: UdpClientId) -> Option<&mut T> {
        self.places.get_mut(id.index as usize).filter(|place| place.generation == id.generation)?.value.as_mut()
    }

    /// Returns the client at a place, with its number.
    pub fn at(&mut self, index: u32) -> Option<(UdpClientId, &mut T)> {
        let place = self.places.get_mut(index as usize)?;
        let id = UdpClientId { index, generation: place.generation };
        place.value.as_mut().map(|value| (id, value))
    }

    pub fn ids(&self) -> impl Iterator<Item = UdpClientId> + '_ {
        self.places
            .iter()
            .enumerate()
            .filter(|(_, place)| place.value.is_some())
            .map(|(index, place)| UdpClientId { index: index as u32, generation: place.generation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again_under_another_number() {
        let mut slab = ClientSlab::new();
        let (first, second) = (slab.insert('a'), slab.insert('b'));
        assert_eq!((slab.remove(first), slab.remove(first)), (Some('a'), None));
        let third = slab.insert('c');
        assert_eq!((third.index, third == first), (first.index, false));
        assert_eq!((slab.get(first), slab.get(second), slab.get(third)), (None, Some(&'b'), Some(&'c')));
        assert_eq!((slab.len(), slab.ids().collect::<Vec<_>>()), (2, vec![third, second]));
    }
}
