"""What tests of agents are made with: fakes, virtual time, contracts."""
