"""What was measured of a machine beside what it should reach: charts as data, for both faces. No Qt, no printing."""
