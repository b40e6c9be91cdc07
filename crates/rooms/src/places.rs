//! Places of a room by network.

use aether_limits::{KeyedShare, KeyedShares, network_of};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Counts the players of a room by network. A player who lost the connection keeps the place until it leaves the room.
#[derive(Debug)]
pub(crate) struct RoomPlaces {
    /// Most places of one network; 0 for no limit.
    network_max: usize,
    shares: KeyedShares<IpAddr>,
    /// Places of admitted players; none for one that left before it was added.
    by_player: Mutex<HashMap<u32, Option<KeyedShare<IpAddr>>>>,
}

impl RoomPlaces {
    pub fn new(network_max: usize) -> RoomPlaces {
        RoomPlaces { network_max, shares: KeyedShares::default(), by_player: Mutex::default() }
    }

    /// Takes a place for a network. Without a limit there is nothing to take. Fails if the network has all its places.
    pub fn take(&self, address: IpAddr) -> Result<Option<KeyedShare<IpAddr>>, PlacesTaken> {
        if self.network_max == 0 {
            return Ok(None);
        }
        let network_max = u32::try_from(self.network_max).unwrap_or(u32::MAX);
        self.shares.take(network_of(address), network_max, u32::MAX).map(Some).ok_or(PlacesTaken)
    }

    /// Keeps the place of an admitted player until [`RoomPlaces::leave`].
    pub fn keep(&self, player: u32, place: KeyedShare<IpAddr>) {
        let mut by_player = self.by_player.lock().unwrap_or_else(PoisonError::into_inner);
        if by_player.remove(&player).is_none() {
            by_player.insert(player, Some(place));
        }
    }

    /// Returns the place of a player who left the room.
    pub fn leave(&self, player: u32) {
        if self.network_max == 0 {
            return;
        }
        let mut by_player = self.by_player.lock().unwrap_or_else(PoisonError::into_inner);
        if by_player.remove(&player).is_none() {
            by_player.insert(player, None);
        }
    }
}

/// The network has all its places in the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlacesTaken;

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> IpAddr {
        [203, 0, 113, 1].into()
    }

    #[test]
    fn a_network_has_its_places_until_its_players_leave() {
        let places = RoomPlaces::new(2);
        let (first, second) = (places.take(home()).unwrap(), places.take(home()).unwrap());
        assert!(places.take(home()).is_err());
        assert!(places.take([203, 0, 113, 2].into()).is_ok(), "another network");
        places.keep(1, first.unwrap());
        drop(second);
        assert!(places.take(home()).is_ok(), "a join that failed returns its place");
        places.leave(1);
        assert_eq!(places.shares.total(), 0);
    }

    #[test]
    fn a_player_who_leaves_before_it_is_added_keeps_no_place() {
        let places = RoomPlaces::new(1);
        let place = places.take(home()).unwrap().unwrap();
        places.leave(7);
        places.keep(7, place);
        assert!(places.take(home()).is_ok());
        assert!(places.by_player.lock().unwrap().is_empty());
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let places = RoomPlaces::new(0);
        assert!((0..1_000).all(|_| matches!(places.take(home()), Ok(None))));
        places.leave(1);
        assert!(places.by_player.lock().unwrap().is_empty());
    }
}
